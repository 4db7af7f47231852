import { loadOnnx, provenPaths } from '../../weights.ts';
import { once, serveWork } from '../../worker/serve.ts';
import { loadSilero, type SileroRow } from './model.ts';

const silero = once(async () => {
  const [path = ''] = await provenPaths('Silero VAD 5');
  return loadSilero(await loadOnnx(), path);
});

serveWork(async (rows: SileroRow[]) => (await silero()).judge(rows));
