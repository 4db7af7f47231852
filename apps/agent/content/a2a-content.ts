import { citationsMediaType, type ExecutionEvent, type Part, reasoningMediaType } from '@trunkline/a2a';
import type { AnswerContent, Content } from '@trunkline/loop';
import { z } from 'zod';

type DataPart = Extract<Part, { type: 'data' }>;
export type CitationContent = Extract<AnswerContent, { type: 'citation' }>;

const thoughts = z.object({ text: z.string() });
const sources = z.object({
  citations: z.array(z.object({ url: z.string(), title: z.string().exactOptional() })),
});

const longestSources = 20_000;

/** What a data part holds: thoughts and sources as Trunkline's agents write them, or any other data. */
export function contentsOfData({ data, name, metadata }: DataPart): Content[] {
  const type = metadata?.mimeType;
  const thought = type === reasoningMediaType ? thoughts.safeParse(data).data : undefined;
  if (thought !== undefined) return [{ type: 'reasoning', text: thought.text }];
  const cited = type === citationsMediaType ? sources.safeParse(data).data : undefined;
  // An empty list says something too, and a long one is cut as other data is.
  const isShort =
    cited !== undefined && cited.citations.length > 0 && JSON.stringify(cited).length <= longestSources;
  if (isShort) return cited.citations.map((citation) => ({ type: 'citation', citation }));
  return [{ type: 'data', data, name }];
}

/** The pages that an answer is drawn from, each once, as one artifact. */
export function sourcesArtifact(contents: readonly CitationContent[]): ExecutionEvent[] {
  if (contents.length === 0) return [];
  const pages = contents.map(({ citation: { url, title } }) => ({ url, ...(title && { title }) }));
  const data = { citations: [...new Map(pages.map((page) => [page.url, page])).values()] };
  const part: Part = { type: 'data', data, metadata: { mimeType: citationsMediaType } };
  return [{ type: 'artifact', name: 'Sources', parts: [part] }];
}
