import { readFile } from 'node:fs/promises';
import type { NoiseRow } from '../../frame-models.ts';
import { provenPaths } from '../../weights.ts';
import { once, serveWork } from '../../worker/serve.ts';
import { loadRnNoise } from './model.ts';

const rnnoise = once(async () => {
  const [path = ''] = await provenPaths('RNNoise');
  return loadRnNoise(new Uint8Array(await readFile(path)));
});
/** The model's state of each caller, by the caller's number. */
const voices = new Map<number, number>();

serveWork(async (rows: NoiseRow[]) => {
  const { open, filter, close } = await rnnoise();
  return rows.map(({ caller, samples }) => {
    const voice = voices.get(caller) ?? open();
    if (samples !== undefined) {
      voices.set(caller, voice);
      return filter(voice, samples);
    }
    voices.delete(caller);
    close(voice);
    return new Float32Array();
  });
});
