import { defineTool, type RunningTool, type Tool, type ToolContext } from '@trunkline/llm';
import { plainName } from '@trunkline/std';
import type { Chart } from '@trunkline/std/chart';
import { z } from 'zod';

/** Characters of one reading. */
const longestReading = 20_000;

const types: Readonly<Record<string, string>> = {
  md: 'text/markdown',
  csv: 'text/csv',
  html: 'text/html',
  json: 'application/json',
  xml: 'application/xml',
  yaml: 'application/yaml',
  yml: 'application/yaml',
};

/** Keys of a pie that fit beside it. */
const mostSlices = 14;

const chartInput = z.object({
  type: z.enum(['bar', 'line', 'area', 'pie']),
  title: z.string().min(1).max(200),
  labels: z.array(z.string().max(200)).min(1).max(200).describe('One for each value, such as months.'),
  series: z
    .array(z.object({ name: z.string().max(200), values: z.array(z.number().nullable()).max(200) }))
    .min(1)
    .max(8)
    .describe('A pie shows the first one alone.'),
  unit: z.string().max(12).optional().describe('Of the values, such as EUR or %.'),
});

/** Where the text of attached files is. */
export interface Attachments {
  /** Undefined where there is no such file, or none with text, that the call may read. */
  read(id: string, context: ToolContext): Promise<{ name: string; text: string } | undefined>;
  /** For policy, before anything is read. */
  nameOf(id: string): string | undefined;
}

/** Files that come with messages, and files for whoever asks. */
export function contentTools(attachments: Attachments): Tool[] {
  return [writeArtifact, drawChart, readAttachment(attachments)] as Tool[];
}

const writeArtifact = defineTool({
  name: 'write_artifact',
  // It is a part of the answer: it reaches nobody but whoever asked, and changes nothing that they have.
  effects: ['reads'],
  description:
    'Hands the person a text file that they can download, such as a report, a table as CSV or a program. Use it for what they want to keep; say in your answer what it holds instead of repeating it.',
  input: z.object({
    name: z.string().min(1).max(150).describe('File name with its ending, such as report.md'),
    content: z.string().min(1),
  }),
  async execute({ name, content }, { attach }) {
    if (attach === undefined) return 'Error: files cannot be handed out here. Put it into the answer.';
    const plain = plainName(name);
    const ending = /\.([a-z]+)$/i.exec(plain)?.[1]?.toLowerCase() ?? '';
    await attach({ name: plain, mediaType: types[ending] ?? 'text/plain', bytes: Buffer.from(content) });
    return `The person has the file ${plain}.`;
  },
});

const drawChart = createChart(async (chart, { attach }) => {
  if (attach === undefined) return 'Error: pictures cannot be handed out here. Write the numbers as a table.';
  const { renderChart } = await import('@trunkline/std/chart');
  const name = `${plainName(chart.title.replace(/[\\/]/g, '-')).slice(0, 60)}.svg`;
  await attach({ name, mediaType: 'image/svg+xml', bytes: Buffer.from(renderChart(chart)) });
  return `The person sees the chart ${name}.`;
});

function readAttachment({ read, nameOf }: Attachments) {
  return defineTool({
    name: 'read_attachment',
    effects: ['reads'],
    external: true,
    description: 'Reads on in a file that is attached to this conversation and too long to be shown whole.',
    input: z.object({
      id: z.string().min(1).max(100).describe('The id that stands beside the name of the file.'),
      from: z.int().min(0).default(0).describe('Characters to skip.'),
    }),
    subject: ({ id }) => ({ path: nameOf(id) ?? id }),
    async execute({ id, from }, context) {
      const file = await read(id, context);
      if (file === undefined) {
        context.ownWords?.();
        return `Error: there is no file ${id} with text in this conversation.`;
      }
      const { name, text } = file;
      if (from >= text.length && from > 0) {
        context.ownWords?.();
        return `Error: ${name} has ${text.length} characters, and all were read.`;
      }
      const end = Math.min(text.length, from + longestReading);
      return `${name}, characters ${from} to ${end} of ${text.length}:\n${text.slice(from, end)}`;
    },
  });
}

/** Draws charts. `show` brings one before whoever asked, and answers the model. */
export function createChart(
  show: (chart: Chart, context: ToolContext) => Promise<string>,
): RunningTool<z.output<typeof chartInput>> {
  return defineTool({
    name: 'chart',
    // It is a part of the answer: it reaches nobody but whoever asked, and changes nothing that they have.
    effects: ['reads'],
    description:
      'Draws a chart of numbers as a picture that the person sees beside the answer: bars, lines, areas or a pie. Say in your answer what it shows.',
    input: chartInput,
    async execute(chart, context) {
      const uneven = chart.series.find(({ values }) => values.length !== chart.labels.length);
      if (uneven !== undefined)
        return `Error: the series "${uneven.name}" has ${uneven.values.length} values for ${chart.labels.length} labels. Give one value for each label, null where there is none.`;
      if (chart.type === 'pie' && chart.labels.length > mostSlices)
        return `Error: a pie has room for ${mostSlices} slices, and this one has ${chart.labels.length}. Join the small ones, or draw bars.`;
      return await show(chart, context);
    },
  });
}
