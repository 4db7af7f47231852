import { Worker } from 'node:worker_threads';
import type { GuardedResponse } from '@trunkline/http';
import type { PdfReply } from './pdf-worker.ts';
import type { Readable } from './readable.ts';

const SCRIPT = new URL('./pdf-worker.ts', import.meta.url);
const LIMIT_MS = 10_000;
const MOST_HEAP_MB = 256;

/** The text of a PDF, page by page. */
export async function pdfText({ body, truncated }: GuardedResponse, signal: AbortSignal): Promise<Readable> {
  if (truncated) return { problem: 'is a PDF of more than 2 MB, which is too large to read' };
  const reply = await inTurn(() => readInThread(body, signal));
  if ('problem' in reply) return { problem: `is a PDF that cannot be read: ${reply.problem}` };
  const pages = reply.pages.map((page) => page.trim()).filter((page) => page !== '');
  return pages.length === 0
    ? { problem: 'is a PDF without text, as scans are' }
    : { text: pages.join('\n\n') };
}

let last: Promise<unknown> = Promise.resolve();

/** One at a time, as each may take much memory for a while. */
function inTurn(work: () => Promise<PdfReply>): Promise<PdfReply> {
  const result = last.then(work, work);
  last = result;
  return result;
}

/** A few thousand bytes can unpack to gigabytes: a thread is ended where it goes too far, and the service lives on. */
async function readInThread(body: Uint8Array, signal: AbortSignal): Promise<PdfReply> {
  signal.throwIfAborted();
  const worker = new Worker(SCRIPT, {
    workerData: new Uint8Array(body),
    resourceLimits: { maxOldGenerationSizeMb: MOST_HEAP_MB },
  });
  const limit = AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]);
  try {
    return await replyOf(worker, limit);
  } finally {
    await worker.terminate();
    signal.throwIfAborted();
  }
}

function replyOf(worker: Worker, limit: AbortSignal): Promise<PdfReply> {
  return new Promise((resolve) => {
    const fail = (problem: string) => resolve({ problem });
    worker.once('message', resolve);
    worker.once('error', (error: Error) => fail(error.message));
    worker.once('exit', () => fail('it takes too much memory'));
    limit.addEventListener('abort', () => fail(`it takes longer than ${LIMIT_MS / 1000} seconds`), {
      once: true,
    });
  });
}
