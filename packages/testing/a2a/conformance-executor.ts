import { setTimeout as delay } from 'node:timers/promises';
import type { ExecutionEvent, ExecutionRequest, Executor } from '@trunkline/a2a';

type Script = (
  request: ExecutionRequest,
  signal: AbortSignal,
) => AsyncGenerator<ExecutionEvent> | ExecutionEvent[];

/** How long the kits wait for a stream. */
const streamWaitMs = 2000;

const file = { type: 'file', name: 'output.txt', mediaType: 'text/plain' } as const;

/** What the public conformance kits expect of an agent, by the beginning of the message's id. The longest that fits counts. */
const scripts: Record<string, Script> = {
  'tck-complete-task': () => [{ type: 'completed', message: 'Hello from TCK' }],
  'tck-delayed-complete': (_request, signal) => completeLater(streamWaitMs, signal),
  'tck-artifact-text': () => artifact({ type: 'text', text: 'Generated text content' }),
  'tck-artifact-file': () => artifact({ ...file, bytes: 'dGNr' }),
  'tck-artifact-file-url': () => artifact({ ...file, uri: 'https://example.com/output.txt' }),
  'tck-artifact-data': () => artifact({ type: 'data', data: { key: 'value', count: 42 } }),
  'tck-message-response': () => [
    { type: 'message', parts: [{ type: 'text', text: 'Direct message response' }] },
  ],
  'tck-input-required': () => [{ type: 'input-required', question: 'Please provide input' }],
  'tck-auth-required': () => [{ type: 'input-required', question: 'Please sign in', authorization: true }],
  'tck-reject-task': () => [{ type: 'rejected', message: 'rejected' }],
  'tck-stream-001': () => artifact({ type: 'text', text: 'Stream hello from TCK' }),
  'tck-stream-002': () => [{ type: 'completed' }],
  'tck-stream-003': () => artifact({ type: 'text', text: 'Stream task lifecycle' }),
  'tck-stream-ordering-001': () => artifact({ type: 'text', text: 'Ordered output' }),
  'tck-stream-artifact-text': () => artifact({ type: 'text', text: 'Streamed text content' }),
  'tck-stream-artifact-file': () => artifact({ ...file, bytes: 'dGNr' }),
  'tck-stream-artifact-chunked': () => [
    { type: 'artifact', artifactId: 'chunks', parts: [{ type: 'text', text: 'chunk-1 ' }], lastChunk: false },
    { type: 'artifact', artifactId: 'chunks', parts: [{ type: 'text', text: 'chunk-2' }], append: true },
    { type: 'completed' },
  ],
  'tck-': ({ message }) => [{ type: 'completed', message: `No script for ${message.messageId}` }],
  'test-resubscribe-message-id': (_request, signal) => completeLater(2 * streamWaitMs, signal),
  // The kit for 0.3 has no scripts: it wants tasks that can be continued and cancelled.
  '': ({ text }) => [{ type: 'input-required', question: `You said: ${text}. What next?` }],
};

const prefixes = Object.keys(scripts).toSorted((left, right) => right.length - left.length);

export const conformanceExecutor: Executor = {
  async *execute(request, signal) {
    const prefix = prefixes.find((candidate) => request.message.messageId.startsWith(candidate)) ?? '';
    const script = scripts[prefix];
    if (script !== undefined) yield* script(request, signal);
  },
};

function artifact(part: Extract<ExecutionEvent, { type: 'artifact' }>['parts'][number]): ExecutionEvent[] {
  return [{ type: 'artifact', parts: [part] }, { type: 'completed' }];
}

async function* completeLater(waitMs: number, signal: AbortSignal): AsyncGenerator<ExecutionEvent> {
  yield { type: 'progress', text: 'Working on it' };
  await delay(waitMs, undefined, { signal });
  yield { type: 'completed', message: 'Done after delay' };
}

/** The program that conformance kits are pointed at, for tests that start it themselves. */
export const conformanceTarget = new URL('./conformance-target.ts', import.meta.url);
