import type { Notices } from '../notices.ts';
import { SpeechError } from '../speech-error.ts';
import { Circuit } from './circuit.ts';
import { withPatience } from './patience.ts';
import { restOfText } from './rest-of-text.ts';
import type { SpeechRequest, Synthesizer } from './synthesizer.ts';

export interface FallbackOptions {
  backend: string;
  /** All backends that may speak a request, the one it should be first. */
  order(request: SpeechRequest): readonly Synthesizer[];
  /** How long a caller waits for the next sound of a backend, where another one could speak. */
  patienceMs(backend: string): number | undefined;
  notices: Notices;
  now?: () => number;
  close(): Promise<void>;
}

interface Progress {
  rest: string;
}

/** Speaks by the first backend that works; one that fails in the middle is followed by the next for what is left. */
export function createFallbackSynthesizer(options: FallbackOptions): Synthesizer {
  const circuit = new Circuit({ notices: options.notices, now: options.now ?? (() => performance.now()) });
  const closing = new AbortController();
  return {
    backend: options.backend,
    speak(request) {
      const signals = [closing.signal, ...(request.signal === undefined ? [] : [request.signal])];
      return speakByFirst({ ...request, signal: AbortSignal.any(signals) }, options, circuit);
    },
    async close() {
      closing.abort(new SpeechError('closed', 'the voices are closed'));
      circuit.close();
      await options.close();
    },
  };
}

async function* speakByFirst(request: SpeechRequest, options: FallbackOptions, circuit: Circuit) {
  if (!/[\p{L}\p{N}]/u.test(request.text)) return;
  const backends = usable(options.order(request), circuit);
  const progress: Progress = { rest: request.text };
  const failures: unknown[] = [];
  for (const [index, backend] of backends.entries()) {
    const next = backends[index + 1];
    const patienceMs = next === undefined ? undefined : options.patienceMs(backend.backend);
    try {
      yield* speakBy(backend, request, progress, patienceMs);
      return circuit.works(backend);
    } catch (error) {
      request.signal?.throwIfAborted();
      failures.push(error);
      tellFailure(backend, error, next, options, circuit);
      if (progress.rest === '') return;
    }
  }
  throw failures[0];
}

const harmless: readonly SpeechError['code'][] = ['unsupported', 'busy'];

/** What a backend cannot read, or has no time for, says nothing about its health. */
function tellFailure(
  backend: Synthesizer,
  error: unknown,
  next: Synthesizer | undefined,
  { notices }: FallbackOptions,
  circuit: Circuit,
): void {
  if (error instanceof SpeechError && harmless.includes(error.code))
    notices.tell(error.message, error.message);
  else circuit.failed(backend, error, next?.backend);
}

/** When all are down, all are tried. */
function usable(backends: readonly Synthesizer[], circuit: Circuit): readonly Synthesizer[] {
  const up = backends.filter((backend) => circuit.isUp(backend));
  return up.length === 0 ? backends : up;
}

async function* speakBy(
  backend: Synthesizer,
  request: SpeechRequest,
  progress: Progress,
  patienceMs: number | undefined,
) {
  const leaving = new AbortController();
  const signal =
    request.signal === undefined ? leaving.signal : AbortSignal.any([request.signal, leaving.signal]);
  const frames = backend.speak({ ...request, text: progress.rest, signal });
  let seconds = 0;
  try {
    for await (const frame of withPatience(frames, patienceMs)) {
      seconds += frame.samples.length / frame.sampleRate;
      yield frame;
    }
    if (seconds === 0) throw new SpeechError('unreadable', 'it gave no sound');
  } catch (error) {
    progress.rest = restOfText(progress.rest, seconds);
    throw error;
  } finally {
    leaving.abort();
  }
}
