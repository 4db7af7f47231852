import { defineTool, type RunningTool, type ToolContext } from '@trunkline/llm';
import type { Chart } from '@trunkline/std/chart';
import { z } from 'zod';

/** Keys of a pie that fit beside it. */
const mostSlices = 14;

const input = z.object({
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

/** Draws charts. `show` brings one before whoever asked, and answers the model. */
export function createChart(
  show: (chart: Chart, context: ToolContext) => Promise<string>,
): RunningTool<z.output<typeof input>> {
  return defineTool({
    name: 'chart',
    // It is a part of the answer: it reaches nobody but whoever asked, and changes nothing that they have.
    effects: ['reads'],
    description:
      'Draws a chart of numbers as a picture that the person sees beside the answer: bars, lines, areas or a pie. Say in your answer what it shows.',
    input,
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
