import { type ElicitResult, ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import type { McpCallResult, McpQuestion } from './types.ts';

export interface CallOptions {
  /** Names the call when its question is answered. */
  key: string;
  needsTask?: boolean | undefined;
  /** Whether the server may ask a person: the caller then gets the question in place of the result. */
  mayAsk: boolean;
  signal: AbortSignal;
  /** Starts anew with each progress report, up to `maxMs` in all. */
  timeoutMs: number;
  maxMs: number;
  /** Gets what the server says of its progress, in words. */
  onProgress?: ((text: string) => void) | undefined;
}

/** Of the turn that goes on with a call: the one that began it has ended. */
export type AnswerOptions = Pick<CallOptions, 'signal' | 'onProgress'>;

export type CallOutcome = McpCallResult | { question: McpQuestion };

type Start = (signal: AbortSignal, onProgress: (told?: Told) => void) => Promise<McpCallResult>;

/** A report of progress, as the protocol has it. */
interface Told {
  progress?: number | undefined;
  total?: number | undefined;
  message?: string | undefined;
}

/** A question is cancelled, and its call with it, if nobody answers within this time. */
const ANSWER_MS = 15 * 60_000;

/** The calls under way in one session. */
export class RunningCalls {
  readonly #calls = new Set<RunningCall>();

  async run(options: CallOptions, start: Start): Promise<CallOutcome> {
    const call = new RunningCall(options);
    this.#calls.add(call);
    call.start(start, () => this.#calls.delete(call));
    return await call.outcome(options.signal);
  }

  /** Hands an answer to the call that asked. Undefined if no such call waits any more. */
  async answer(
    key: string,
    answer: ElicitResult,
    { signal, onProgress }: AnswerOptions,
  ): Promise<CallOutcome | undefined> {
    const call = [...this.#calls].find((each) => each.options.key === key && each.isAsking);
    if (call === undefined) return undefined;
    call.onProgress = onProgress;
    call.answer(answer);
    return await call.outcome(signal);
  }

  /**
   * The protocol does not say which call a question belongs to. With several under way, the answer of one person
   * could reach the call of another, so the question is cancelled.
   */
  async ask(question: McpQuestion, signal: AbortSignal): Promise<ElicitResult> {
    const [call, ...others] = this.#calls;
    if (call === undefined || others.length > 0 || !call.options.mayAsk || call.isAsking)
      return { action: 'cancel' };
    return await call.ask(question, signal);
  }
}

class RunningCall {
  readonly options: CallOptions;
  onProgress: CallOptions['onProgress'];
  readonly #stop = new AbortController();
  #startedAt = Date.now();
  #result: Promise<McpCallResult> | undefined;
  #question = Promise.withResolvers<CallOutcome>();
  #reply: ((answer: ElicitResult) => void) | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: CallOptions) {
    this.options = options;
    this.onProgress = options.onProgress;
  }

  get isAsking(): boolean {
    return this.#reply !== undefined;
  }

  start(start: Start, onEnd: () => void): void {
    this.#limitCall();
    const report = (told: Told = {}) => {
      this.#limitCall();
      this.onProgress?.(progressWords(told));
    };
    this.#result = start(this.#stop.signal, report).finally(() => {
      clearTimeout(this.#timer);
      onEnd();
    });
    // Nobody waits for the result while a question is open.
    this.#result.catch(() => undefined);
  }

  /** The result, or the next question. While a question is open, the caller's signal does not end the call. */
  async outcome(signal: AbortSignal): Promise<CallOutcome> {
    const stop = () => this.#stop.abort(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    try {
      return await Promise.race([this.#result as Promise<McpCallResult>, this.#question.promise]);
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  ask(question: McpQuestion, signal: AbortSignal): Promise<ElicitResult> {
    const reply = Promise.withResolvers<ElicitResult>();
    this.#reply = reply.resolve;
    const cancel = () => this.answer({ action: 'cancel' });
    signal.addEventListener('abort', cancel, { once: true });
    // The server must not go on by itself, nor ask more: nobody would hear of it.
    this.#limit(ANSWER_MS, () => {
      this.#stop.abort(new McpError(ErrorCode.RequestTimeout, 'Nobody answered the question in time'));
      cancel();
    });
    this.#question.resolve({ question });
    return reply.promise;
  }

  answer(answer: ElicitResult): void {
    const reply = this.#reply;
    this.#reply = undefined;
    this.#question = Promise.withResolvers();
    this.#startedAt = Date.now();
    this.#limitCall();
    reply?.(answer);
  }

  #limitCall(): void {
    // A person has a limit of their own.
    if (this.isAsking) return;
    const { timeoutMs, maxMs } = this.options;
    const left = maxMs - (Date.now() - this.#startedAt);
    this.#limit(Math.max(0, Math.min(timeoutMs, left)), () =>
      this.#stop.abort(new McpError(ErrorCode.RequestTimeout, 'Request timed out')),
    );
  }

  #limit(ms: number, onExpiry: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(onExpiry, ms).unref();
  }
}

function progressWords({ progress, total, message }: Told): string {
  const share =
    progress === undefined || total === undefined || total <= 0
      ? ''
      : `${Math.min(100, Math.max(0, Math.round((progress / total) * 100)))} %`;
  return [share, message].filter(Boolean).join(', ');
}
