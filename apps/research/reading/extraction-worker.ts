// Runs in a thread of its own: takes raw pages, gives back their text.
import { parentPort } from 'node:worker_threads';
import { extract } from './extract.ts';
import type { Extracted, Raw } from './extracted.ts';

export interface ExtractionTask {
  id: number;
  raw: Raw;
}

export type ExtractionReply = { id: number } & ({ extracted: Extracted } | { problem: string });

parentPort?.on('message', ({ id, raw }: ExtractionTask) => {
  extract(raw).then(
    (extracted) => reply({ id, extracted }),
    (error: unknown) => reply({ id, problem: error instanceof Error ? error.message : String(error) }),
  );
});

function reply(message: ExtractionReply): void {
  parentPort?.postMessage(message);
}
