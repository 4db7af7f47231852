// Hosts the journal in a thread of its own: waiting for the disk must not hold up the thread that serves users.
import { type MessagePort, parentPort } from 'node:worker_threads';
import { errorMessage } from '@trunkline/std';
import { StorageError } from '@trunkline/storage';
import { BusError } from '../../errors.ts';
import { type Journal, type JournalOptions, openJournal } from './journal.ts';
import type { Call, Outcome } from './thread.ts';

let journal: Journal | undefined;

const port = parentPort;
if (port) awaitOptions(port);

/** The options come before all calls; after the last one, `close`, come those of the next journal. */
function awaitOptions(port: MessagePort): void {
  port.once('message', (options: JournalOptions) => {
    const answer = (call: Call) => {
      port.postMessage(outcomeOf(call, options));
      if (call.method !== 'close') return;
      journal = undefined;
      port.off('message', answer);
      awaitOptions(port);
    };
    port.on('message', answer);
  });
}

function outcomeOf({ id, method, parameters }: Call, options: JournalOptions): Outcome {
  try {
    journal ??= openJournal(options);
    const run = journal[method] as (...parameters: unknown[]) => unknown;
    return { id, result: run(...parameters) };
  } catch (error) {
    return { id, error: { code: codeOf(error), message: errorMessage(error) } };
  }
}

function codeOf(error: unknown): string {
  return error instanceof BusError || error instanceof StorageError ? error.code : 'engine_failed';
}
