import { maySee } from '@trunkline/identity';
import { defineTool } from '@trunkline/llm';
import { type ContentStore, plainName } from '@trunkline/loop';
import { createChart } from '@trunkline/tools';
import { z } from 'zod';
import { defineToolModule, type ToolDeps } from './tool-module.ts';

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

/** Files that come with messages, and files for whoever asks. */
export const contentTools = defineToolModule({
  name: 'content',
  tools: ({ files, actor }) =>
    files === undefined ? [] : [writeArtifact, drawChart, readAttachment(files, actor)],
});

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

function readAttachment(files: ContentStore, actor: ToolDeps['actor']) {
  return defineTool({
    name: 'read_attachment',
    effects: ['reads'],
    external: true,
    description: 'Reads on in a file that is attached to this conversation and too long to be shown whole.',
    input: z.object({
      id: z.string().min(1).max(100).describe('The id that stands beside the name of the file.'),
      from: z.int().min(0).default(0).describe('Characters to skip.'),
    }),
    subject: ({ id }) => ({ path: files.find(id)?.name ?? id }),
    async execute({ id, from }, { sessionId, principal, ownWords }) {
      const file = files.find(id);
      const isTheirs =
        file !== undefined && (file.sessionId === sessionId || maySee(actor(principal).viewer, file.owner));
      const read = isTheirs ? files.text(id) : undefined;
      if (file === undefined || read === undefined) {
        ownWords?.();
        return `Error: there is no file ${id} with text in this conversation.`;
      }
      if (from >= read.text.length && from > 0) {
        ownWords?.();
        return `Error: ${file.name} has ${read.text.length} characters, and all were read.`;
      }
      const end = Math.min(read.text.length, from + longestReading);
      return `${file.name}, characters ${from} to ${end} of ${read.text.length}:\n${read.text.slice(from, end)}`;
    },
  });
}
