import { loadOnnx } from '../../onnx.ts';
import { provenPaths } from '../../weights.ts';
import { serveWork } from '../../worker/serve.ts';
import { loadSilero, type Silero, type SileroRow } from './model.ts';

let loading: Promise<Silero> | undefined;

serveWork(async function* (rows: SileroRow[]) {
  loading ??= load();
  yield (await loading).judge(rows);
});

async function load(): Promise<Silero> {
  const [path = ''] = await provenPaths('Silero VAD 5');
  return loadSilero(await loadOnnx(), path);
}
