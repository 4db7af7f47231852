import {
  citationsMediaType,
  type ExecutionEvent,
  type Part,
  reasoningMediaType,
  type Task,
  textOf,
} from '@trunkline/a2a';
import { joinOrigins, type Origin, ownerKey, type Principal } from '@trunkline/identity';
import { type AnswerContent, type Content, originsIn } from '@trunkline/loop';
import { z } from 'zod';
import { plainMessages, type SessionStore } from '../turns/session-store.ts';

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

/** What the tasks that a message refers to asked for and answered, as the model reads it. Their marks go along. */
export function contentsOfTasks(
  tasks: readonly Task[],
  sessions: Pick<SessionStore, 'load'>,
  caller: Principal,
): readonly Content[] {
  return tasks.map((task) => {
    const asked = textOf(task.history.find(({ role }) => role === 'user')?.parts ?? []);
    const answer = answerOf(task);
    const files = task.artifacts.flatMap(({ parts }) =>
      parts.flatMap((part) => (part.type === 'file' ? [part.name ?? part.uri ?? 'file'] : [])),
    );
    return {
      type: 'data',
      name: 'of an earlier task that the message refers to',
      data: { task: task.id, state: task.state, asked, answer, ...(files.length > 0 && { files }) },
      origins: originsOf(task, answer, sessions, caller),
    };
  });
}

function answerOf({ artifacts, statusMessage }: Task): string {
  const texts = artifacts.map(({ parts }) => textOf(parts)).filter((text) => text !== '');
  return texts.length > 0 ? texts.join('\n\n') : textOf(statusMessage?.parts ?? []);
}

/**
 * Those of its conversation. Where that no longer holds the answer, nobody knows them, and the task itself is named; so is
 * one of somebody else, whose own words have no marks there.
 */
function originsOf(
  task: Task,
  answer: string,
  sessions: Pick<SessionStore, 'load'>,
  caller: Principal,
): readonly Origin[] {
  const { messages } = sessions.load(task.contextId);
  const isOwn = task.owner === ownerKey(caller);
  const isHeld = plainMessages(messages).some(
    ({ role, content }) => role === 'assistant' && answer !== '' && content.includes(answer),
  );
  return joinOrigins(originsIn(messages), isOwn && isHeld ? [] : [{ kind: 'task', source: task.id }]);
}
