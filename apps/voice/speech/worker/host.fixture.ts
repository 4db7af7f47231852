import { SpeechError } from '../speech-error.ts';
import { serveWork } from './serve.ts';

/** A worker that does as it is told, for the tests of its host. */
serveWork(async function* ({ do: what, value = 0 }: { do: string; value?: number }, signal: AbortSignal) {
  switch (what) {
    case 'echo':
      yield value;
      break;
    case 'count':
      for (let count = 0; count < value && !signal.aborted; count += 1) {
        yield count;
        await new Promise((resolve) => setImmediate(resolve));
      }
      break;
    case 'listen':
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      break;
    case 'fail':
      throw new SpeechError('missing', 'not there');
    case 'crash':
      queueMicrotask(() => {
        throw new Error('boom');
      });
      await new Promise(() => undefined);
      break;
    case 'exit':
      process.exit(3);
      break;
    case 'stick':
      for (;;);
  }
});
