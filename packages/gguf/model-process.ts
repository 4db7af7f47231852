import { type ChildProcess, fork } from 'node:child_process';
import { readVariables } from '@trunkline/config';
import { defineErrors, type Logger } from '@trunkline/http';
import {
  type AnswerEvent,
  type CompletionRequest,
  openAiErrors,
  systemText,
  textOf,
} from '@trunkline/openai-api';
import { errorMessage, formatDuration, withTimeout } from '@trunkline/std';
import type { ChildMessage, ChildRequest, FileFacts, LoadSettings, ModelFacts } from './messages.ts';

export interface ModelProcessOptions {
  load: LoadSettings;
  /** The model leaves the memory after this time without a request; never when 0. */
  idleMs: number;
  /** A process that says nothing for this long after a request was cancelled is stuck, and is ended. */
  silenceMs?: number;
  logger: Logger;
  /** Flags for Node in the child. */
  nodeFlags?: readonly string[];
}

/** While a request waits this long for the model, it is not yet told to come again. */
const patienceMs = 1_000;
/** A load that failed is not tried again for this long. */
const failureMs = 5_000;
/** A load that makes no progress for this long has failed. */
const stallMs = 300_000;
const stopMs = 5_000;
const defaultSilenceMs = 10_000;
const inspectMs = 60_000;
/** Of what the child wrote to its error output, this much is kept for the log. */
const outputChars = 2_000;

interface Running {
  child: ChildProcess;
  output: string;
  state: 'loading' | 'ready';
  progress: number;
  stall: NodeJS.Timeout | undefined;
  /** Set while a cancelled request waits for a sign of life. */
  silence: NodeJS.Timeout | undefined;
  /** Resolves when the model is loaded; rejects when it cannot be, or the process ended before. */
  loaded: PromiseWithResolvers<void>;
}

interface Pending {
  receive(message: ChildMessage): void;
  fail(error: Error): void;
}

/** The child process with the model: started when needed, ended when nobody asks for a while, started again when it crashed. */
export class ModelProcess {
  readonly #options: ModelProcessOptions;
  readonly #pending = new Map<number, Pending>();
  #running: Running | undefined;
  #failure: { error: Error; until: number } | undefined;
  #facts: ModelFacts | undefined;
  #idle: NodeJS.Timeout | undefined;
  #lastId = 0;
  #stopped = false;

  constructor(options: ModelProcessOptions) {
    this.#options = options;
  }

  /** Of the model as it was last loaded. */
  get facts(): ModelFacts | undefined {
    return this.#facts;
  }

  get state(): 'unloaded' | 'loading' | 'ready' {
    return this.#running?.state ?? 'unloaded';
  }

  get pid(): number | undefined {
    return this.#running?.child.pid;
  }

  /** Begins to load unless the model is there. */
  load(): void {
    if (this.#stopped) throw modelErrors.model_failed({ message: 'The service is stopping.' });
    if (this.#running !== undefined) return;
    if (this.#failure !== undefined && Date.now() < this.#failure.until) throw this.#failure.error;
    this.#running = this.#start();
  }

  /** Waits a moment for the model; throws a 503 while it loads. */
  async ready(): Promise<void> {
    this.load();
    const running = this.#running;
    if (running === undefined || running.state === 'ready') return;
    const { promise: elapsed, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, patienceMs);
    await Promise.race([running.loaded.promise, elapsed]).finally(() => clearTimeout(timer));
    if (running.state === 'loading') throw loading(running.progress);
  }

  async *ask(request: CompletionRequest, signal: AbortSignal): AsyncGenerator<AnswerEvent, void> {
    await this.ready();
    const running = this.#running;
    if (running === undefined) throw loading(0);
    this.#lastId += 1;
    const id = this.#lastId;
    const inbox = new Inbox();
    this.#pending.set(id, inbox);
    clearTimeout(this.#idle);
    const cancel = () => this.#cancel(running, id);
    signal.addEventListener('abort', cancel, { once: true });
    try {
      if (!signal.aborted) {
        send(running.child, { type: 'ask', id, request: asText(request) });
        yield* inbox.events();
      }
    } finally {
      signal.removeEventListener('abort', cancel);
      if (!inbox.isDone) cancel();
      this.#pending.delete(id);
      this.#watchIdle();
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#idle);
    await this.#unload();
  }

  #start(): Running {
    const child = startChild(this.#options.nodeFlags);
    const running: Running = {
      child,
      output: '',
      state: 'loading',
      progress: 0,
      stall: undefined,
      silence: undefined,
      loaded: Promise.withResolvers(),
    };
    // Whoever waits is told; with nobody waiting the log has it.
    running.loaded.promise.catch(() => undefined);
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      running.output = (running.output + text).slice(-outputChars);
    });
    child.on('message', (message: ChildMessage) => this.#receive(running, message));
    child.on('error', (error) => this.#ended(running, errorMessage(error)));
    child.once('exit', (code, signal) => this.#ended(running, signal ?? `exit code ${code}`));
    send(child, { type: 'load', settings: this.#options.load });
    this.#options.logger.info({ file: this.#options.load.path }, 'loading model file');
    this.#watchStall(running);
    return running;
  }

  #watchStall(running: Running): void {
    const { path } = this.#options.load;
    clearTimeout(running.stall);
    const stalled = () =>
      this.#failed(running, `${path} (LLM_GGUF) made no progress in loading for ${formatDuration(stallMs)}.`);
    running.stall = setTimeout(stalled, stallMs).unref();
  }

  #receive(running: Running, message: ChildMessage): void {
    clearTimeout(running.silence);
    running.silence = undefined;
    if ('id' in message) {
      this.#pending.get(message.id)?.receive(message);
      return;
    }
    if (message.type === 'progress') {
      running.progress = message.fraction;
      this.#watchStall(running);
    }
    if (message.type === 'failed' && running === this.#running) this.#failed(running, message.message);
    if (message.type !== 'ready') return;
    running.state = 'ready';
    clearTimeout(running.stall);
    this.#facts = message.facts;
    this.#options.logger.info({ ...message.facts }, 'model file loaded');
    running.loaded.resolve();
    this.#watchIdle();
  }

  #failed(running: Running, message: string): void {
    // OpenAI's clients ask again after a 500 unless they are told not to.
    const error = modelErrors.model_failed({ message }, { headers: { 'x-should-retry': 'false' } });
    this.#failure = { error, until: Date.now() + failureMs };
    this.#options.logger.error({ err: error, output: running.output }, 'failed to load model file');
    this.#forget(running, error);
    running.child.kill();
  }

  #ended(running: Running, reason: string): void {
    if (running !== this.#running) return;
    const { load, logger } = this.#options;
    const message = `The process that ran ${load.path} (LLM_GGUF) ended unexpectedly (${reason}); it is started again. Ask again. If this repeats, the machine may lack memory: set a smaller LLM_GGUF_CONTEXT, or use a smaller file.`;
    logger.error({ reason, output: running.output }, 'model process ended unexpectedly');
    if (running.state === 'loading') {
      this.#failed(running, message);
      return;
    }
    this.#forget(running, modelErrors.model_failed({ message }));
    running.child.kill('SIGKILL');
    if (this.#stopped) return;
    try {
      this.load();
    } catch (error) {
      // The next request tries again, and is told.
      logger.error({ err: error }, 'failed to start the model process again');
    }
  }

  #forget(running: Running, error: Error): void {
    this.#running = undefined;
    clearTimeout(this.#idle);
    clearTimeout(running.stall);
    clearTimeout(running.silence);
    running.loaded.reject(error);
    for (const pending of this.#pending.values()) pending.fail(error);
  }

  #watchIdle(): void {
    const { idleMs, logger } = this.#options;
    clearTimeout(this.#idle);
    // One that loads is not idle: whoever asked was told to come again.
    if (idleMs === 0 || this.#pending.size > 0 || this.#running?.state !== 'ready') return;
    this.#idle = setTimeout(() => {
      logger.info({ idleMs }, 'model file unloaded');
      void this.#unload();
    }, idleMs);
    this.#idle.unref();
  }

  async #unload(): Promise<void> {
    const running = this.#running;
    if (running === undefined) return;
    this.#forget(running, modelErrors.model_failed({ message: 'The model was unloaded.' }));
    await end(running.child);
  }

  /** A process that does not even acknowledge it is stuck in native code or in a loop, for everybody. */
  #cancel(running: Running, id: number): void {
    if (running !== this.#running) return;
    send(running.child, { type: 'cancel', id });
    const { silenceMs = defaultSilenceMs, logger } = this.#options;
    const end = () => {
      logger.error({ silenceMs }, 'model process does not answer');
      running.child.kill('SIGKILL');
    };
    running.silence ??= setTimeout(end, silenceMs).unref();
  }
}

/** What the header of a file says, read in a process of its own; fails in words where it could not be run. */
export async function inspectModelFile(path: string, nodeFlags?: readonly string[]): Promise<FileFacts> {
  const child = startChild(nodeFlags);
  const { promise, resolve, reject } = Promise.withResolvers<FileFacts>();
  child.on('message', (message: ChildMessage) => {
    if (message.type === 'inspected') resolve(message.facts);
    if (message.type === 'failed') reject(new Error(message.message));
  });
  child.on('error', reject);
  child.once('exit', (code, signal) =>
    reject(new Error(`${path} (LLM_GGUF) cannot be run: its process ended with ${signal ?? code}.`)),
  );
  send(child, { type: 'inspect', path });
  try {
    return await withTimeout({ timeoutMs: inspectMs }, () => promise);
  } finally {
    await end(child);
  }
}

/** Told in text, the process of the model need not load the API's server to read a message. */
function asText(request: CompletionRequest): CompletionRequest {
  const system = systemText(request);
  const others = request.messages.filter(({ role }) => role !== 'system' && role !== 'developer');
  return {
    ...request,
    messages: [
      ...(system === '' ? [] : [{ role: 'system' as const, content: system }]),
      ...others.map((message) => ({ ...message, content: textOf(message) })),
    ],
  };
}

function startChild(nodeFlags: readonly string[] = []): ChildProcess {
  // Secrets of the services are none of the model's business. Compiled sources save a quarter of the processor time of a start.
  const env = Object.fromEntries(
    readVariables(/^(PATH|HOME|LD_LIBRARY_PATH|NODE_COMPILE_CACHE|SystemRoot|TEMP|TMP|TMPDIR)$/),
  );
  return fork(new URL('./child.ts', import.meta.url), [], {
    env,
    execArgv: [...nodeFlags],
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
}

/** A process that cannot be told anything any more is of no use: its end, or that it never began, tells why. */
function send(child: ChildProcess, message: ChildRequest): void {
  if (child.pid === undefined) return;
  child.send(message, (error) => {
    if (error !== null) child.kill('SIGKILL');
  });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.kill();
  const timer = setTimeout(() => child.kill('SIGKILL'), stopMs);
  await gone;
  clearTimeout(timer);
}

function loading(progress: number) {
  const headers = { 'retry-after': '1' };
  return modelErrors.model_loading({ percent: Math.floor(progress * 100) }, { headers });
}

/** Messages of one answer, from the moment they arrive to the moment they are asked for. */
class Inbox implements Pending {
  readonly #waiting: ChildMessage[] = [];
  #error: Error | undefined;
  #arrived = Promise.withResolvers<void>();
  isDone = false;

  receive(message: ChildMessage): void {
    this.#waiting.push(message);
    this.#arrived.resolve();
  }

  fail(error: Error): void {
    this.#error = error;
    this.#arrived.resolve();
  }

  async *events(): AsyncGenerator<AnswerEvent, void> {
    while (true) {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
        this.isDone = next.type === 'done' || next.type === 'refused';
        if (next.type === 'event') yield next.event;
        if (next.type === 'refused') throw modelErrors[`refused_${next.status}`]({ message: next.message });
        if (next.type === 'done') return;
      }
      if (this.#error !== undefined) throw this.#error;
      await this.#arrived.promise;
      this.#arrived = Promise.withResolvers();
    }
  }
}

const { invalid_request_error, rate_limit_error } = openAiErrors;

/** Failures of the door to the model. The words of 503 are those of llama.cpp's server, which clients wait for. */
export const modelErrors = {
  ...defineErrors({
    model_loading: [503, ({ percent }: { percent: number }) => `Loading model (${percent} %)`],
    model_failed: [500, ({ message }: { message: string }) => message],
    refused_500: [500, ({ message }: { message: string }) => `The model failed: ${message}`],
  }),
  refused_400: invalid_request_error,
  refused_429: rate_limit_error,
};
