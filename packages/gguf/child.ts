// The process that runs the model: native code that crashes, or takes too much memory, ends this process alone.
import { flushCompileCache } from 'node:module';
import { errorMessage, QueueFullError } from '@trunkline/std';
import { type Engine, EngineError, inspectFile, loadEngine } from './engine.ts';
import type { ChildMessage, ChildRequest, LoadSettings } from './messages.ts';

/** Progress is reported in steps of this size, so that a load does not flood the parent. */
const progressStep = 0.02;

let engine: Engine | undefined;
const running = new Map<number, AbortController>();

process.on('message', (message: ChildRequest) => void handle(message));
// Without its parent nobody can ask it anything.
process.on('disconnect', () => process.exit());

async function handle(message: ChildRequest): Promise<void> {
  if (message.type === 'cancel') {
    running.get(message.id)?.abort();
    return send({ type: 'cancelled', id: message.id });
  }
  if (message.type === 'ask') return answer(message);
  try {
    if (message.type === 'inspect') send({ type: 'inspected', facts: await inspectFile(message.path) });
    else await load(message.settings);
    // Node writes what it compiled when a process exits, and this one is ended by a signal.
    flushCompileCache();
  } catch (error) {
    const path = message.type === 'inspect' ? message.path : message.settings.path;
    send({ type: 'failed', message: loadFailure(path, error) });
  }
}

async function load(settings: LoadSettings): Promise<void> {
  let reported = 0;
  engine = await loadEngine(settings, (fraction) => {
    if (fraction - reported < progressStep) return;
    reported = fraction;
    send({ type: 'progress', fraction });
  });
  send({ type: 'ready', facts: engine.facts });
}

async function answer({ id, request }: Extract<ChildRequest, { type: 'ask' }>): Promise<void> {
  const controller = new AbortController();
  running.set(id, controller);
  try {
    if (engine === undefined) throw new Error('the model is not loaded');
    await engine.answer(request, (event) => send({ type: 'event', id, event }), controller.signal);
    send({ type: 'done', id });
  } catch (error) {
    if (controller.signal.aborted) send({ type: 'done', id });
    else send({ type: 'refused', id, status: statusOf(error), message: errorMessage(error) });
  } finally {
    running.delete(id);
  }
}

function statusOf(error: unknown): 400 | 429 | 500 {
  if (error instanceof QueueFullError) return 429;
  return error instanceof EngineError && error.code === 'context' ? 400 : 500;
}

function loadFailure(path: string, error: unknown): string {
  if (error instanceof EngineError && error.code === 'package-missing')
    return `The package node-llama-cpp, which runs ${path} (LLM_GGUF), is not installed. Run "npm ci" without --omit=optional, or unset LLM_GGUF and set LLM_GATEWAY_URL to a model server.`;
  if (error instanceof EngineError && error.code === 'no-binary')
    return `node-llama-cpp has no binary that runs on this machine (${process.platform}-${process.arch}): ${errorMessage(error.cause)}. Run the file with llama.cpp's own server or Ollama, set LLM_GATEWAY_URL to it and unset LLM_GGUF.`;
  return `${path} (LLM_GGUF) cannot be loaded: ${errorMessage(error)}. Check that it is a whole GGUF file of a chat model, and that the machine has memory for it; a smaller LLM_GGUF_CONTEXT takes less.`;
}

function send(message: ChildMessage): void {
  if (process.connected) process.send?.(message);
}
