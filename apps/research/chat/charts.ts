import type { RunningTool } from '@trunkline/llm';
import type { Chart } from '@trunkline/std/chart';
import { createChart } from '@trunkline/tools';

const MOST_CHARTS = 6;
/** Charts with more figures are shown unchecked. */
const MOST_CHECKED = 60;

/** The charts of one turn, in their order. Some models give the ids of calls again in later steps. */
export class TurnCharts {
  readonly #charts: Chart[] = [];
  readonly #byCall = new Map<string, Chart>();

  add(toolCallId: string, chart: Chart): void {
    this.#charts.push(chart);
    this.#byCall.set(toolCallId, chart);
  }

  /** The latest chart that a call with this id drew. */
  drawnBy(toolCallId: string): Chart | undefined {
    return this.#byCall.get(toolCallId);
  }

  all(): Chart[] {
    return [...this.#charts];
  }
}

/** The chart goes to the page as data, which draws it. */
export function chartTool(charts: TurnCharts, isOver: () => boolean): RunningTool {
  return createChart(async (chart, { toolCallId }) => {
    if (isOver() || charts.all().length >= MOST_CHARTS)
      return 'Error: no more charts in this turn. Answer with what you have.';
    charts.add(toolCallId, chart);
    return JSON.stringify({ shown: chart.title });
  }) as RunningTool;
}

/** The figures of a chart as a table in Markdown, which is checked as an answer is; empty where there are too many. */
export function figuresOf({ type, title, labels, series, unit = '' }: Chart): string {
  const shown = type === 'pie' ? series.slice(0, 1) : series;
  if (labels.length * shown.length > MOST_CHECKED) return '';
  const row = (cells: readonly string[]) => `| ${cells.map(cellText).join(' | ')} |`;
  const figure = (value: number | null | undefined) => (value == null ? '–' : `${value} ${unit}`.trim());
  return [
    row([title, ...shown.map(({ name }) => name)]),
    row(['---', ...shown.map(() => '---')]),
    ...labels.map((label, index) => row([label, ...shown.map(({ values }) => figure(values[index]))])),
  ].join('\n');
}

function cellText(words: string): string {
  return words.replace(/\s+/g, ' ').replace(/\|/g, '/').trim();
}
