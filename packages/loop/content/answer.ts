import { joinOrigins, type Origin } from '@trunkline/identity';
import { errorMessage } from '@trunkline/std';
import type { ModelMessage } from 'ai';
import type { ModelStep } from '../model-step.ts';
import type { ModelRecord } from '../options.ts';
import { markOf } from '../taint.ts';
import {
  type AnswerContent,
  type Citation,
  contentOfFile,
  type StoredFile,
  scheme,
  type TurnFiles,
} from './content.ts';

/** An answer of the model whose files are stored. */
export interface ThoughtStep extends ModelStep {
  files: StoredFile[];
}

/** Stores what a model made, and marks what it drew from pages. `offset`: where its text begins in that of the turn. */
export async function answerOf(
  step: ModelStep,
  files: TurnFiles | undefined,
  offset: number,
): Promise<{ answer: ThoughtStep; problems: string[] }> {
  const { messages, stored, problems } = await storeFiles(step.messages, files);
  const citations = step.citations.map((each) => shifted(each, offset));
  const mark = markOf(citedOrigins(citations));
  const marked = citations.length === 0 ? messages : messages.map((each) => ({ ...each, ...mark }));
  return { answer: { ...step, citations, files: stored, messages: marked as ModelMessage[] }, problems };
}

/** What the person gets of an answer beside its words. */
export function* answerEvents({
  files = [],
  citations = [],
}: Pick<ModelRecord, 'files' | 'citations'>): Generator<AnswerContent> {
  for (const file of files) yield contentOfFile(file);
  for (const citation of citations) yield { type: 'citation', citation };
}

/** An answer that the endpoint drew from pages is text from outside, like the result of a search. */
export function citedOrigins(citations: readonly Citation[] = []): readonly Origin[] {
  return joinOrigins(citations.map(({ url }) => ({ kind: 'citation', source: url })));
}

function shifted({ start, end, ...page }: Citation, by: number): Citation {
  return start === undefined || end === undefined ? page : { ...page, start: start + by, end: end + by };
}

type AnswerPart = { type: string; data?: unknown; mediaType?: string };

/**
 * Stores the files that a model made, so that the conversation refers to them. What cannot be stored is named in words,
 * which the person is to be told.
 */
async function storeFiles(
  messages: readonly ModelMessage[],
  files: TurnFiles | undefined,
): Promise<{ messages: ModelMessage[]; stored: StoredFile[]; problems: string[] }> {
  const stored: StoredFile[] = [];
  const problems: string[] = [];
  const keep = async (part: AnswerPart): Promise<object> => {
    if (part.type !== 'file' || typeof part.data !== 'string' || part.data.startsWith(scheme)) return part;
    const mediaType = part.mediaType ?? 'application/octet-stream';
    const name = `${mediaType.split('/')[0]}-${stored.length + 1}.${extensionOf(mediaType)}`;
    try {
      if (files === undefined)
        throw new Error('files cannot be handed on here. Ask for it in the chat of the agent.');
      const file = await files.store({ name, mediaType, bytes: Buffer.from(part.data, 'base64') });
      stored.push(file);
      return { ...part, data: `${scheme}${file.id}`, mediaType: file.mediaType, filename: file.name };
    } catch (error) {
      const text = `The model made ${name}, but it could not be kept: ${errorMessage(error)}`;
      problems.push(text);
      return { type: 'text', text };
    }
  };
  const kept: ModelMessage[] = [];
  for (const message of messages) {
    const { role, content } = message;
    if (role !== 'assistant' || typeof content === 'string' || !content.some(({ type }) => type === 'file')) {
      kept.push(message);
      continue;
    }
    const parts: object[] = [];
    for (const part of content) parts.push(await keep(part));
    kept.push({ ...message, content: parts } as ModelMessage);
  }
  return { messages: kept, stored, problems };
}

/** Of media types that are not called like the files. */
const extensions = new Map([
  ['jpeg', 'jpg'],
  ['svg+xml', 'svg'],
  ['mpeg', 'mp3'],
  ['plain', 'txt'],
]);

function extensionOf(mediaType: string): string {
  const kind = mediaType.split('/')[1] ?? '';
  return extensions.get(kind) ?? kind.replace(/\W.*$/, '');
}
