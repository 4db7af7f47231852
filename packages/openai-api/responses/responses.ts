import type { ExecutionEvent, Executor, Message, TaskEngine } from '@trunkline/a2a';
import { HttpError } from '@trunkline/http';
import type { Principal } from '@trunkline/identity';
import type { AnswerEvent } from '../completion.ts';
import { openAiErrors } from '../errors.ts';
import type { Item } from './items.ts';
import { type ResponseEntry, ResponseStore, type StoredResponse } from './store.ts';
import type { ResponseEvent, ResponseWriter } from './writer.ts';

/** An answer that goes on without the request that asked for it. */
export interface BackgroundWork {
  writer: ResponseWriter;
  input: readonly Item[];
  principal: Principal;
  /** What the task shows as its request. */
  text: string;
  answer(signal: AbortSignal): AsyncIterable<AnswerEvent>;
  /** Told of failures that callers are not told the cause of. */
  onFailure(error: unknown): void;
}

/** Responses of a service: those that are kept, and those that run in the background. */
export class Responses {
  readonly store: ResponseStore;
  /** By the message that starts their task. */
  readonly #waiting = new Map<string, RunningResponse>();
  readonly #running = new Map<string, RunningResponse>();

  constructor(path: string, now?: () => number) {
    this.store = new ResponseStore(path, now);
  }

  /** The executor of the service's tasks, which runs background responses too. */
  runningTasksOf(executor: Executor): Executor {
    return {
      execute: (request, signal) => {
        const running = this.#waiting.get(request.message.messageId);
        if (running === undefined) return executor.execute(request, signal);
        this.#waiting.delete(request.message.messageId);
        return this.#run(running, signal);
      },
      recover: (task, signal) => {
        const id = this.store.ofTask(task.id);
        if (id === undefined) return executor.recover?.(task, signal);
        // Nobody holds the request of a response any more: it has failed.
        this.store.end(id, 'failed');
        return undefined;
      },
    };
  }

  /** Whether a message starts a background response, which its model admits itself. */
  isResponse({ messageId }: Pick<Message, 'messageId'>): boolean {
    return this.#waiting.has(messageId);
  }

  /** Starts an answer as a task, where it is listed, bounded and cancelled as other tasks are. */
  async start(work: BackgroundWork, engine: Pick<TaskEngine, 'for'>): Promise<RunningResponse> {
    const { writer, principal, text } = work;
    const messageId = crypto.randomUUID();
    const running = new RunningResponse(work);
    this.#waiting.set(messageId, running);
    let shared: Promise<void> | undefined;
    try {
      const { live, stored } = engine.for(principal).start({
        message: { messageId, role: 'user', parts: [{ type: 'text', text }] },
        metadata: { response_id: writer.id },
        strict: false,
        prepare: (task) => {
          writer.taskId = task.id;
          running.push(writer.created());
          shared = this.#save(work);
          this.#running.set(writer.id, running);
        },
      });
      running.task = live;
      await shared;
      if (await stored) return running;
      throw openAiErrors.upstream_error({ message: `The task ${live.id} could not be written to disk.` });
    } catch (error) {
      this.#waiting.delete(messageId);
      this.#forget(running);
      throw asHttpError(error);
    }
  }

  bytesOf(owner: string): number {
    return this.store.bytesOf(owner);
  }

  /** A background response that has not ended. */
  running(id: string): RunningResponse | undefined {
    return this.#running.get(id);
  }

  /** Ends a background response now; the task follows. */
  cancel(running: RunningResponse, engine: Pick<TaskEngine, 'for'>): void {
    const { work } = running;
    work.writer.cancel();
    void this.#save(work);
    running.end();
    this.#running.delete(work.writer.id);
    if (work.writer.taskId !== undefined) engine.for(work.principal).cancel(work.writer.taskId, false);
  }

  /** Ends a background response that another service makes, which shares its tasks; the task that it ends tells it. */
  cancelElsewhere(
    { id, task }: Pick<StoredResponse, 'id' | 'task'>,
    principal: Principal,
    engine: Pick<TaskEngine, 'for'>,
  ): void {
    if (task !== null) engine.for(principal).cancel(task, false);
    this.store.end(id, 'cancelled');
  }

  /** Makes a change that another service that shares the responses has made. */
  take(entry: ResponseEntry): void {
    if (entry.type === 'deleted') {
      this.#running.get(entry.id)?.end();
      this.#running.delete(entry.id);
    }
    this.store.take(entry);
  }

  /** The response or the conversation that a change is about. */
  keyOf(entry: ResponseEntry): string {
    if (entry.type === 'response') return entry.row.id;
    return entry.type === 'deleted' ? entry.id : entry.change.id;
  }

  onWrite(listener: (entry: ResponseEntry) => Promise<void>): () => void {
    return this.store.onWrite(listener);
  }

  /** Call it when the tasks have been stopped. What still runs is found to have failed at the next start. */
  close(): void {
    for (const running of this.#running.values()) running.end();
    this.store.close();
  }

  async *#run(running: RunningResponse, signal: AbortSignal): AsyncGenerator<ExecutionEvent> {
    const { writer, answer, onFailure } = running.work;
    try {
      running.push(writer.begin());
      this.#saveRunning(running);
      for await (const event of answer(signal)) {
        running.push(writer.take(event));
        if (writer.isOver) this.#saveRunning(running);
        yield* taskEvents(event);
      }
    } catch (error) {
      if (writer.isOver || signal.aborted) return;
      if (!(error instanceof HttpError)) onFailure(error);
      running.push(writer.fail(error));
      yield { type: 'failed', message: error instanceof HttpError ? error.message : 'The answer failed.' };
    } finally {
      // The service stops: the next start finds the response cut off, as it does the task.
      const isCutOff = signal.aborted && !writer.isOver && running.task?.state === 'working';
      if (!writer.isOver && !isCutOff) writer.cancel();
      if (!isCutOff) this.#saveRunning(running);
      running.end();
      this.#running.delete(writer.id);
    }
  }

  /** Whoever cancelled a response has saved it, and may have deleted it since. */
  #saveRunning(running: RunningResponse): void {
    if (this.#running.get(running.work.writer.id) === running) void this.#save(running.work);
  }

  #save({ writer, input, principal }: BackgroundWork): Promise<void> {
    return this.store.save(writer.body(), { input, principal, isOutside: writer.isOutside });
  }

  #forget(running: RunningResponse): void {
    running.end();
    this.#running.delete(running.work.writer.id);
    if (running.work.writer.taskId !== undefined) this.store.delete(running.work.writer.id);
  }
}

/** Pieces of text of a running response that stand apart; beyond that the older half is joined. About 1 MB with their events. */
const mostPieces = 4000;

interface KeptEvent {
  /** The number of the first event that it stands for; the event has the number of the last. */
  first: number;
  event: ResponseEvent;
}

/**
 * The events of a response while it runs, stored once for all who follow it. In a long answer the older pieces of text are
 * joined: whoever begins at the start, or reads slowly, gets the same text in fewer events.
 */
export class RunningResponse {
  readonly work: BackgroundWork;
  task: { readonly state: string } | undefined;
  #events: KeptEvent[] = [];
  /** Events that were added since the older ones were joined, and those that were left apart then. */
  #apart = 0;
  /** The numbers that those who follow it get next. */
  readonly #followers = new Set<{ next: number }>();
  #isOver = false;
  #changed = Promise.withResolvers<void>();

  constructor(work: BackgroundWork) {
    this.work = work;
  }

  push(events: readonly ResponseEvent[]): void {
    if (this.#isOver) return;
    for (const event of events) this.#events.push({ first: event.sequence_number, event });
    this.#apart += events.length;
    if (this.#apart >= mostPieces) this.#joinOlder();
    this.#tell();
  }

  end(): void {
    this.#isOver = true;
    this.#tell();
  }

  /** Every event behind that number, those to come included. Ends with an error where it is among joined ones. */
  async *follow(after: number, signal: AbortSignal): AsyncGenerator<ResponseEvent> {
    const left = new Promise<void>((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    const place = { next: after + 1 };
    this.#followers.add(place);
    try {
      for (let index = 0; !signal.aborted; ) {
        const changed = this.#changed.promise;
        const isOver = this.#isOver;
        // It is at another index once older ones were joined.
        if (this.#events[index - 1]?.event.sequence_number !== place.next - 1)
          index = this.#events.findIndex(({ event }) => event.sequence_number >= place.next);
        const found = this.#events[index];
        if (found !== undefined) {
          const { first, event } = found;
          if (first < place.next) return yield tooLate(after, event.sequence_number);
          place.next = event.sequence_number + 1;
          index += 1;
          yield event;
        } else if (isOver) return;
        else await Promise.race([changed, left]);
      }
    } finally {
      this.#followers.delete(place);
    }
  }

  #joinOlder(): void {
    this.#apart = mostPieces / 2;
    const runs: [KeptEvent, ...KeptEvent[]][] = [];
    const starts = new Set([...this.#followers].map(({ next }) => next));
    for (const kept of this.#events.slice(0, -this.#apart)) {
      const run = runs.at(-1);
      if (run !== undefined && !starts.has(kept.first) && continues(run[0].event, kept.event)) run.push(kept);
      else runs.push([kept]);
    }
    this.#events = [...runs.map(joined), ...this.#events.slice(-this.#apart)];
  }

  #tell(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }
}

/** Whether both are pieces of one text. */
function continues(one: ResponseEvent, next: ResponseEvent): boolean {
  return next.delta !== undefined && next.type === one.type && next.item_id === one.item_id;
}

function joined(run: readonly [KeptEvent, ...KeptEvent[]]): KeptEvent {
  const [{ first }] = run;
  const { event } = run.at(-1) ?? run[0];
  return run.length === 1
    ? run[0]
    : { first, event: { ...event, delta: run.map((kept) => kept.event.delta).join('') } };
}

/** As OpenAI tells of an error within a stream. */
function tooLate(seen: number, last: number): ResponseEvent {
  const message = `Number ${seen} is among events up to ${last} that were joined since. Follow the response again without starting_after.`;
  const error = { code: 'events_joined', message, param: null };
  return { type: 'error', sequence_number: seen, ...error };
}

/** The same answer as the task tells it. */
function taskEvents(event: AnswerEvent): ExecutionEvent[] {
  if (event.type === 'text-delta' || event.type === 'reasoning-delta') return [event];
  if (event.type === 'ignored-parameters' || event.type === 'citation' || event.type === 'image') return [];
  const { usage, text, toolCalls = [] } = event;
  const names = toolCalls.map((call) => call.function.name).join(', ');
  return [
    ...(usage ? [{ type: 'usage' as const, usage: { ...usage, totalTokens: totalOf(usage) } }] : []),
    {
      type: 'completed',
      ...(text !== undefined && { text }),
      ...(names !== '' && { message: `The caller is to run ${names}.` }),
    },
  ];
}

function totalOf({ inputTokens, outputTokens, totalTokens }: NonNullable<EndUsage>): number {
  return totalTokens ?? inputTokens + outputTokens;
}

type EndUsage = Extract<AnswerEvent, { type: 'end' }>['usage'];

/** Tasks are refused with errors of their own: too many of them, or too much kept. */
function asHttpError(error: unknown): unknown {
  if (!(error instanceof Error && 'reason' in error)) return error;
  const { message, reason } = error;
  if (reason === 'QUOTA_EXCEEDED') return openAiErrors.insufficient_quota({ message });
  return reason === 'OVERLOADED' ? openAiErrors.rate_limit_error({ message }) : error;
}
