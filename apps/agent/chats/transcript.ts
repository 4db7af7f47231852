import type { Task, TaskObserver, TaskState } from '@trunkline/a2a';
import { contentsOfData } from '../content/a2a-content.ts';
import { uploadScheme } from '../content/agent-content.ts';

type TaskEvent = Parameters<NonNullable<TaskObserver['taskEvent']>>[1];
type Event<Type extends TaskEvent['type']> = Extract<TaskEvent, { type: Type }>;
type Message = Task['history'][number];
type FilePart = Extract<Message['parts'][number], { type: 'file' }>;

/** A stored file; its link is asked for when it is shown. */
export interface ChatFile {
  id: string;
  name: string;
  media_type: string;
}

/** One thing that a person sees in a conversation. */
export type ChatEntry =
  | { kind: 'user'; text: string; attachments: string[]; files?: ChatFile[] }
  | { kind: 'text'; text: string }
  | { kind: 'reasoning'; text: string }
  | {
      kind: 'tool';
      id: string;
      name: string;
      phase: 'started' | 'completed' | 'failed';
      args?: unknown;
      result?: unknown;
      started_at: number;
      ended_at: number | null;
      /** The newest words of a tool that runs. */
      progress?: string;
    }
  | ({ kind: 'file' } & ChatFile)
  | { kind: 'sources'; sources: { url: string; title?: string }[] }
  | { kind: 'question'; text: string; schema: unknown }
  | { kind: 'note'; text: string; failed: boolean };

/** A task as a conversation shows it. */
export interface ChatTurn {
  task_id: string;
  session_id: string;
  state: TaskState;
  entries: ChatEntry[];
  usage: Task['usage'] | null;
  duration_ms: number | null;
  created_at: number;
  /** Set where a schedule that was made in the conversation ran, not a person's message. */
  schedule?: { job_id: string };
}

/** What an event changes: an entry that is new or other than before, more text for one, or the state. */
export type ChatChange =
  | { type: 'entry'; index: number; entry: ChatEntry }
  | { type: 'append'; index: number; text: string }
  | { type: 'state'; state: TaskState; usage: ChatTurn['usage']; duration_ms: number | null };

const toolWords = /^Tool \S+ (started|completed|failed)$/;

/** Makes of the events of a task what a person sees of it. */
export class Transcript {
  readonly turn: ChatTurn;
  /** Where the answer of the present turn begins. */
  #answerFrom: number;
  #at: number;

  constructor(turn: ChatTurn) {
    this.turn = turn;
    this.#answerFrom = turn.entries.length;
    this.#at = turn.created_at;
  }

  /** `scheduledIn`: the conversation that shows the run of a schedule. */
  static of({ id, contextId, state, createdAt, metadata }: Task, scheduledIn?: string): Transcript {
    return new Transcript({
      task_id: id,
      session_id: scheduledIn ?? contextId,
      state,
      entries: [],
      usage: null,
      duration_ms: null,
      created_at: createdAt,
      ...(scheduledIn !== undefined && { schedule: { job_id: String(metadata?.scheduler_job_id) } }),
    });
  }

  /** A message of a person starts a turn. */
  say(message: Message): ChatChange[] {
    const change = this.#add({ kind: 'user', ...contentOf(message) });
    this.#answerFrom = this.turn.entries.length;
    return [change];
  }

  apply(event: TaskEvent): ChatChange[] {
    if (event.type === 'status') return this.#status(event);
    return event.type === 'artifact' ? this.#artifact(event) : [];
  }

  #status({ state, message, at, usage, durationMs }: Event<'status'>): ChatChange[] {
    this.#at = at;
    this.turn.state = state;
    this.turn.usage = usage ?? this.turn.usage;
    this.turn.duration_ms = durationMs ?? this.turn.duration_ms;
    const { duration_ms } = this.turn;
    return [...this.#said(state, message), { type: 'state', state, usage: this.turn.usage, duration_ms }];
  }

  #said(state: TaskState, message: Message | undefined): ChatChange[] {
    if (message === undefined) return [];
    const { text } = contentOf(message);
    const toolCallId = message.parts[0]?.metadata?.toolCallId;
    if (toolCallId !== undefined) return this.#progress(toolCallId, text);
    if (state === 'input-required' || state === 'auth-required') {
      return [this.#add({ kind: 'question', text, schema: schemaOf(message) })];
    }
    if (text === '' || toolWords.test(text)) return [];
    return [this.#add({ kind: 'note', text, failed: state === 'failed' || state === 'rejected' })];
  }

  #artifact({ artifact, append }: Event<'artifact'>): ChatChange[] {
    const [part] = artifact.parts;
    if (part?.type === 'text') return append ? this.#grow(part.text) : this.#replace(part.text);
    if (part?.type === 'file') return this.#file(part);
    if (part?.type !== 'data') return [];
    const contents = contentsOfData(part);
    const sources = contents.flatMap((content) => (content.type === 'citation' ? [content.citation] : []));
    if (sources.length > 0) return [this.#add({ kind: 'sources', sources })];
    const [content] = contents;
    return content?.type === 'reasoning' ? this.#think(content) : this.#tool(part.data as ToolFrame);
  }

  /** More of the answer; after a tool it goes on below it. */
  #grow(text: string): ChatChange[] {
    const index = this.turn.entries.length - 1;
    const last = this.turn.entries[index];
    if (last?.kind !== 'text' || index < this.#answerFrom) {
      const start = text.trimStart();
      return start === '' ? [] : [this.#add({ kind: 'text', text: start })];
    }
    if (text === '') return [];
    last.text += text;
    return [{ type: 'append', index, text }];
  }

  #think({ text }: { text: string }): ChatChange[] {
    const index = this.turn.entries.length - 1;
    const last = this.turn.entries[index];
    if (last?.kind !== 'reasoning') return [this.#add({ kind: 'reasoning', text })];
    last.text += text;
    return [{ type: 'append', index, text }];
  }

  /** An answer that turned out otherwise than it was streamed. */
  #replace(text: string): ChatChange[] {
    const emptied = this.turn.entries.flatMap((entry, index): ChatChange[] => {
      if (index < this.#answerFrom || entry.kind !== 'text') return [];
      entry.text = '';
      return [{ type: 'entry', index, entry: { ...entry } }];
    });
    return [...emptied, this.#add({ kind: 'text', text })];
  }

  #tool({ toolCallId: id, name, phase, args, result }: ToolFrame): ChatChange[] {
    const index = this.turn.entries.findLastIndex((entry) => entry.kind === 'tool' && entry.id === id);
    const known = this.turn.entries[index];
    if (phase === 'started' || known?.kind !== 'tool') {
      return [this.#add({ kind: 'tool', id, name, phase, args, started_at: this.#at, ended_at: null })];
    }
    const { progress: _, ...rest } = known;
    const entry = { ...rest, phase, result, ended_at: this.#at };
    this.turn.entries[index] = entry;
    return [{ type: 'entry', index, entry }];
  }

  #progress(id: unknown, text: string): ChatChange[] {
    const index = this.turn.entries.findLastIndex((entry) => entry.kind === 'tool' && entry.id === id);
    const known = this.turn.entries[index];
    if (known?.kind !== 'tool' || known.phase !== 'started') return [];
    const entry = { ...known, progress: text.replace(`${known.name}: `, '') };
    this.turn.entries[index] = entry;
    return [{ type: 'entry', index, entry }];
  }

  #file(part: FilePart): ChatChange[] {
    const file = fileOf(part, part.metadata?.file);
    return file === undefined ? [] : [this.#add({ kind: 'file', ...file })];
  }

  #add(entry: ChatEntry): ChatChange {
    this.turn.entries.push(entry);
    return { type: 'entry', index: this.turn.entries.length - 1, entry: { ...entry } };
  }
}

interface ToolFrame {
  toolCallId: string;
  name: string;
  phase: 'started' | 'completed' | 'failed';
  args?: unknown;
  result?: unknown;
}

/** The text of a message and the names of its attachments. */
function contentOf({ parts }: Message): { text: string; attachments: string[]; files?: ChatFile[] } {
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part] : []));
  const named = texts.filter(({ metadata }) => typeof metadata?.attachment === 'string');
  const sent = parts.flatMap((part) => (part.type === 'file' ? [part] : []));
  const files = sent.flatMap((part) => {
    const id = part.uri?.startsWith(uploadScheme) ? part.uri.slice(uploadScheme.length) : undefined;
    return fileOf(part, id) ?? [];
  });
  const others = sent.filter(({ uri }) => !uri?.startsWith(uploadScheme));
  return {
    text: texts
      .filter((part) => !named.includes(part))
      .map(({ text }) => text)
      .join('\n'),
    attachments: [
      ...named.map(({ metadata }) => String(metadata?.attachment)),
      ...others.map(({ name = 'file' }) => name),
    ],
    ...(files.length > 0 && { files }),
  };
}

function fileOf({ name = 'file', mediaType = '' }: FilePart, id: unknown): ChatFile | undefined {
  return typeof id === 'string' ? { id, name, media_type: mediaType } : undefined;
}

function schemaOf({ parts }: Message): unknown {
  const data = parts.find((part) => part.type === 'data')?.data as { schema?: unknown } | undefined;
  return data?.schema ?? null;
}
