import type { IncomingMessage } from 'node:http';

const decoder = new TextDecoder();

/** The whole body as text; fails when the client leaves before it is there. */
export function readText(incoming: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
    incoming.once('end', () => resolve(decoder.decode(whole(chunks))));
    incoming.once('error', reject);
    incoming.once('close', () => {
      if (!incoming.complete) reject(new Error('The client left before its request was complete.'));
    });
  });
}

function whole(chunks: readonly Buffer[]): Buffer {
  const [first] = chunks;
  return chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks);
}
