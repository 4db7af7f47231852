import { SpeechError } from '../speech-error.ts';
import { type AudioFrame, samplesOf } from './samples.ts';
import { isWav, streamedWav } from './wav.ts';

/** So many bytes tell whether a file begins, and its head ends within so many. */
const shortestHead = 12;
const longestHead = 65_536;

/**
 * The frames of a stream of 16-bit mono samples, in chunks of whole ones. Of a WAV file that comes instead, its own rate
 * counts and not the one that was claimed; what is no sound at all is refused, as it would be heard as noise.
 */
export async function* readSamples(
  chunks: AsyncIterable<Uint8Array>,
  claimedRate: number,
): AsyncGenerator<AudioFrame, void> {
  let head: Uint8Array = new Uint8Array();
  let sampleRate: number | undefined;
  for await (const chunk of chunks) {
    if (sampleRate !== undefined) {
      yield { samples: samplesOf(chunk), sampleRate };
      continue;
    }
    head = Buffer.concat([head, chunk]);
    const begun = begin(head, claimedRate);
    sampleRate = begun?.sampleRate;
    if (begun !== undefined && begun.start < head.length)
      yield { samples: samplesOf(head.subarray(begun.start)), sampleRate: begun.sampleRate };
  }
  if (sampleRate !== undefined) return;
  if (head.length >= shortestHead) throw unreadable('it sent half a file');
  if (head.length > 0) yield { samples: samplesOf(head), sampleRate: claimedRate };
}

/** Where the samples begin, and their rate; undefined while that cannot be told. */
function begin(bytes: Uint8Array, claimedRate: number): { start: number; sampleRate: number } | undefined {
  if (bytes.length < shortestHead) return undefined;
  const name = Buffer.from(bytes.subarray(0, 4)).toString('latin1');
  if (/^(ID3|OggS|fLaC)/.test(name)) throw unreadable('it sent a packed file instead of bare samples');
  if (!isWav(bytes)) return { start: 0, sampleRate: claimedRate };
  if (bytes.length > longestHead) throw unreadable('it sent a file without samples');
  try {
    return streamedWav(bytes);
  } catch (cause) {
    throw unreadable('it sent a WAV file that is not of 16-bit mono samples', cause);
  }
}

function unreadable(message: string, cause?: unknown): SpeechError {
  return new SpeechError('unreadable', message, { cause });
}

/** What an answer holds instead of sound, by its own word; undefined where it may be sound. */
export function typeOfWords(response: Response): string | undefined {
  const [type = ''] = response.headers.get('content-type')?.split(';') ?? [];
  return /^text\/|json|xml/.test(type) ? type : undefined;
}

/** Cuts a stream of bytes at whole 16-bit samples: an odd byte waits for its other half. */
export async function* alignSamples(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  let carry: number | undefined;
  for await (const chunk of chunks) {
    const bytes: Uint8Array = carry === undefined ? chunk : Uint8Array.from([carry, ...chunk]);
    const whole = bytes.length - (bytes.length % 2);
    carry = whole === bytes.length ? undefined : bytes[whole];
    if (whole > 0) yield bytes.subarray(0, whole);
  }
}
