import type { Clock } from '@trunkline/schedule';
import { StorageError } from '@trunkline/storage';
import {
  type Artifact,
  agentMessage,
  type Logger,
  type Part,
  textPart,
  type Usage,
} from '../protocol/model.ts';
import type { ExecutionEvent } from './executor.ts';
import type { LiveTask, StatusChange } from './live-task.ts';

/** How the frame of a tool call is marked on the wire. */
export const toolCallMediaType = 'application/vnd.trunkline.tool-call-v1+json';

/** How a frame of the model's thoughts is marked on the wire. */
export const reasoningMediaType = 'application/vnd.trunkline.reasoning-v1+json';

/** Thoughts go out in pieces of about this length: nobody reads them letter by letter. */
const thoughtPiece = 200;

const longestPreview = 800;

const questionMediaType = 'application/vnd.trunkline.hitl-mode-v1+json';

/** Applies what the executor reports to the task, from the start of a turn to its end. */
export class Turn {
  readonly #live: LiveTask;
  readonly #clock: Clock;
  readonly #startedAt: number;
  readonly #spentBefore: number;
  #streamed = '';
  /** Thoughts that have not gone out, and how many frames have. */
  #thoughts = '';
  #thoughtFrames = 0;
  #usage: Usage | undefined;
  #deniedCalls: number;
  #begun = false;

  constructor(live: LiveTask, clock: Clock) {
    const { durationMs, usage, deniedCalls = 0 } = live.snapshot();
    this.#live = live;
    this.#clock = clock;
    this.#startedAt = clock.now();
    this.#spentBefore = durationMs ?? 0;
    this.#usage = usage;
    this.#deniedCalls = deniedCalls;
  }

  /** Says whether the turn is over with this event. */
  apply(event: ExecutionEvent): boolean {
    const first = !this.#begun;
    this.#begun = true;
    if (event.type !== 'reasoning-delta') this.#think('', true);
    switch (event.type) {
      case 'progress':
        this.#progress(event.text, event.toolCallId);
        return false;
      case 'text-delta':
        this.#delta(event.text);
        return false;
      case 'reasoning-delta':
        this.#think(event.text, false);
        return false;
      case 'tool-start':
      case 'tool-end':
        this.#tool(event);
        return false;
      case 'artifact':
        this.#artifact(event);
        return false;
      case 'usage':
        this.#usage = addUsage(this.#usage, event.usage);
        return false;
      case 'input-required':
        this.#park(event);
        return true;
      case 'completed':
        this.complete(event.text, event.message);
        return true;
      case 'failed':
      case 'rejected':
        this.#end(event.type, [textPart(event.message)]);
        return true;
      case 'message':
        this.#message(event.parts, first);
        return true;
    }
  }

  /** The executor has nothing more to say. */
  complete(text = this.#streamed, message?: string): void {
    this.#finishAnswer(text);
    // Some clients take what is said with the end for the answer: a note beside an answer goes out before it.
    const isSaid = message !== undefined && text !== '';
    if (isSaid) this.#progress(message);
    this.#end('completed', message === undefined ? undefined : [textPart(message)], isSaid);
  }

  fail(reason: string): void {
    this.#end('failed', [textPart(reason)]);
  }

  #progress(text: string, toolCallId?: string): void {
    const part = { ...textPart(text), ...(toolCallId !== undefined && { metadata: { toolCallId } }) };
    this.#live.enter('working', this.#clock.now(), { message: this.#says([part]) });
  }

  #delta(text: string): void {
    if (text === '') return;
    this.#live.growAnswer(text, { append: this.#streamed !== '', lastChunk: false });
    this.#streamed += text;
  }

  /** Thoughts are no part of the task: who looks later sees the answer alone. */
  #think(text: string, isOver: boolean): void {
    this.#thoughts += text;
    if (this.#thoughts === '' || (!isOver && this.#thoughts.length < thoughtPiece)) return;
    const artifact: Artifact = {
      artifactId: `reasoning-${this.#thoughtFrames}`,
      name: 'reasoning',
      parts: [{ type: 'data', data: { text: this.#thoughts }, metadata: { mimeType: reasoningMediaType } }],
    };
    this.#thoughtFrames += 1;
    this.#thoughts = '';
    this.#live.publish(artifact, { append: false, lastChunk: true, kept: false });
  }

  #tool(event: Extract<ExecutionEvent, { type: 'tool-start' | 'tool-end' }>): void {
    this.#progress(toolProgress(event));
    const lastChunk = event.type === 'tool-end';
    if (lastChunk && event.denied) this.#deniedCalls += 1;
    this.#live.publish(toolFrame(event), { append: false, lastChunk, kept: false });
  }

  #artifact(event: Extract<ExecutionEvent, { type: 'artifact' }>): void {
    const { artifactId = crypto.randomUUID(), name, parts, append = false, lastChunk = true } = event;
    const artifact = { artifactId, ...(name !== undefined && { name }), parts };
    this.#live.publish(artifact, { append, lastChunk, kept: true });
  }

  /** Only the part of the answer that was not streamed goes out; an answer that turned out otherwise replaces it. */
  #finishAnswer(text: string): void {
    if (text === '' && this.#streamed === '') return;
    const append = this.#streamed !== '' && text.startsWith(this.#streamed);
    this.#live.growAnswer(append ? text.slice(this.#streamed.length) : text, { append, lastChunk: true });
  }

  #park(event: Extract<ExecutionEvent, { type: 'input-required' }>): void {
    const { question, schema, authorization } = event;
    const form: Part[] =
      schema === undefined
        ? []
        : [{ type: 'data', data: { schema }, metadata: { mimeType: questionMediaType } }];
    this.#live.enter(authorization === true ? 'auth-required' : 'input-required', this.#clock.now(), {
      ...this.#spent(),
      message: this.#says([textPart(question), ...form]),
      question: { text: question, ...(schema !== undefined && { schema }) },
    });
  }

  /** A plain reply after something else was reported is an answer like any other. */
  #message(parts: readonly Part[], first: boolean): void {
    const { history } = this.#live.snapshot();
    if (first && history.length <= 1) this.#live.reply(this.#says(parts));
    else this.#end('completed', parts);
  }

  #end(state: 'completed' | 'failed' | 'rejected', parts: readonly Part[] | undefined, isSaid = false): void {
    this.#live.enter(state, this.#clock.now(), {
      ...this.#spent(),
      ...(parts && { message: this.#says(parts), isSaid }),
    });
  }

  #spent(): StatusChange {
    const durationMs = this.#spentBefore + this.#clock.now() - this.#startedAt;
    const deniedCalls = this.#deniedCalls;
    return {
      durationMs,
      ...(this.#usage && { usage: this.#usage }),
      ...(deniedCalls > 0 && { deniedCalls }),
    };
  }

  #says(parts: readonly Part[]) {
    return agentMessage(this.#live.snapshot(), parts);
  }
}

function addUsage(before: Usage | undefined, more: Usage): Usage {
  const prices = [before?.costUsd, more.costUsd].filter((price) => price !== undefined);
  return {
    inputTokens: (before?.inputTokens ?? 0) + more.inputTokens,
    outputTokens: (before?.outputTokens ?? 0) + more.outputTokens,
    totalTokens: (before?.totalTokens ?? 0) + more.totalTokens,
    ...(prices.length > 0 && { costUsd: prices.reduce((sum, price) => sum + price, 0) }),
    ...((before?.estimated || more.estimated) && { estimated: true }),
  };
}

/** Applies what the executor reports to the task until the turn ends or its controller is taken away. */
export async function runTurn(
  live: LiveTask,
  turn: Turn,
  events: (signal: AbortSignal) => AsyncIterable<ExecutionEvent>,
  logger: Logger,
): Promise<void> {
  const { controller } = live;
  if (controller === undefined) return;
  const isCurrent = () => live.controller === controller;
  try {
    for await (const event of events(controller.signal)) {
      if (!isCurrent() || turn.apply(event)) return;
    }
    if (isCurrent()) turn.complete();
  } catch (error) {
    if (!isCurrent()) return;
    logger.error({ err: error, taskId: live.id }, 'executor failed');
    turn.fail(reasonFor(error));
  }
}

/** What the caller is told of a failure that the executor did not foresee; the log has the rest. */
function reasonFor(error: unknown): string {
  return error instanceof StorageError && error.code === 'disk_full'
    ? 'The agent failed: its disk is full. Make room, then send the message again'
    : 'The agent failed: the server log has the details';
}

type ToolEvent = Extract<ExecutionEvent, { type: 'tool-start' | 'tool-end' }>;

type Phase = 'started' | 'completed' | 'failed';

/** The structured frame for clients that draw a timeline of tools. */
function toolFrame(event: ToolEvent): Artifact {
  const preview =
    event.type === 'tool-start' ? { args: shorten(event.args) } : { result: shorten(event.result) };
  return {
    artifactId: `tool-${event.toolCallId}`,
    name: event.name,
    parts: [
      {
        type: 'data',
        data: { toolCallId: event.toolCallId, name: event.name, phase: phaseOf(event), ...preview },
        metadata: { mimeType: toolCallMediaType },
      },
    ],
  };
}

/** The same in words, for the status line. */
function toolProgress(event: ToolEvent): string {
  return `Tool ${event.name} ${phaseOf(event)}`;
}

function phaseOf(event: ToolEvent): Phase {
  if (event.type === 'tool-start') return 'started';
  return event.failed === true ? 'failed' : 'completed';
}

/** A value whose JSON is short stays as it is; a longer one becomes the beginning of its text. */
function shorten(value: unknown): unknown {
  if (value === undefined) return undefined;
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
  if (text.length <= longestPreview) return value;
  return `${text.slice(0, longestPreview - 1)}…`;
}
