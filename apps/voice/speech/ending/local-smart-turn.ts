import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { WorkerHost } from '../worker/host.ts';
import type { SmartTurn } from './smart-turn.ts';

export interface SmartTurnSettings {
  path: string;
}

/** The model does not come with the installation: its owner puts it into the directory under this name. */
export function smartTurnPath(directory: string): string | undefined {
  const path = join(directory, 'smart-turn.onnx');
  return existsSync(path) ? path : undefined;
}

/** Opens judges whose work is done by one worker. */
export function createSmartTurns(host: WorkerHost): () => SmartTurn {
  return () => ({
    judge: (samples, signal) => host.ask<number>(samples, { signal }),
    close: async () => undefined,
  });
}
