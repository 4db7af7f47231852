// Runs in a thread of its own: reads one PDF and gives back the text of its pages.
import { parentPort, workerData } from 'node:worker_threads';
import { extractText, getDocumentProxy } from 'unpdf';

export type PdfReply = { pages: string[] } | { problem: string };

const MOST_BUFFER_BYTES = 256 * 1024 * 1024;
const LOOK_EVERY_MS = 50;

/** Buffers do not count towards the limit of a thread's heap. */
setInterval(() => {
  if (process.memoryUsage().arrayBuffers > MOST_BUFFER_BYTES) process.exit();
}, LOOK_EVERY_MS).unref();

function reply(message: PdfReply): void {
  parentPort?.postMessage(message);
}

try {
  const document = await getDocumentProxy(workerData as Uint8Array, { verbosity: 0 });
  reply({ pages: (await extractText(document)).text });
} catch (error) {
  reply({ problem: error instanceof Error ? error.message : String(error) });
}
