import { SpeechError } from '../speech-error.ts';
import { type AudioFrame, checkRate, type Sound, SoundError, samplesOf, wavHeader } from './samples.ts';

/** Bytes that tell whether a WAV file begins; its header ends within `longestHead`. */
const shortestHead = 12;

const longestHead = 65_536;

/** Sample formats of WAV files. */
const kinds = { integer: 1, float: 3, extensible: 0xfffe };
const mostChannels = 8;
/** Real files have a handful. */
const maxChunks = 1000;

interface Layout {
  kind: number;
  channels: number;
  sampleRate: number;
  bits: number;
}

/** Decodes integer and floating-point WAV files, up to `mostSeconds`. */
export function decodeWav(bytes: Uint8Array, mostSeconds = Infinity): Sound {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const chunks = chunksOf(view);
  const layout = formatOf(view, chunks);
  const data = chunks.find(({ name }) => name === 'data');
  if (data === undefined) throw new SoundError(incomplete);
  const mostFrames = Math.ceil(mostSeconds * layout.sampleRate);
  return { channels: channelsOf(view, data, layout, mostFrames), sampleRate: layout.sampleRate };
}

export function isWav(bytes: Uint8Array): boolean {
  return /^RIFF.{4}WAVE/s.test(Buffer.from(bytes.subarray(0, 12)).toString('latin1'));
}

/** Start and rate of the 16-bit mono samples of a streamed file; undefined while its header is incomplete. */
function streamedWav(bytes: Uint8Array): { start: number; sampleRate: number } | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const chunks = chunksOf(view);
  const data = chunks.find(({ name }) => name === 'data');
  if (data === undefined) return undefined;
  const { kind, channels, bits, sampleRate } = formatOf(view, chunks);
  if (kind !== kinds.integer || channels !== 1 || bits !== 16)
    throw new SoundError('the WAV file holds samples of another kind');
  return { start: data.start, sampleRate: checkRate(sampleRate) };
}

/** A WAV file of 16-bit mono samples. */
export function encodeWav(samples: Uint8Array, sampleRate: number): Uint8Array {
  const header = wavHeader(samples.length, sampleRate);
  const bytes = new Uint8Array(header.length + samples.length);
  bytes.set(header);
  bytes.set(samples, header.length);
  return bytes;
}

interface Chunk {
  name: string;
  start: number;
  length: number;
}

/** A length beyond the end, as streamed files have, is cut to what is there. */
function chunksOf(view: DataView): Chunk[] {
  const chunks: Chunk[] = [];
  for (let at = 12; at + 8 <= view.byteLength && chunks.length < maxChunks; ) {
    const name = String.fromCharCode(...[0, 1, 2, 3].map((index) => view.getUint8(at + index)));
    const length = Math.min(view.getUint32(at + 4, true), view.byteLength - at - 8);
    chunks.push({ name, start: at + 8, length });
    at += 8 + length + (length % 2);
  }
  return chunks;
}

const incomplete = 'the WAV file has no format or no data';

function formatOf(view: DataView, chunks: readonly Chunk[]): Layout {
  const format = chunks.find(({ name }) => name === 'fmt ');
  if (format === undefined || format.length < 16) throw new SoundError(incomplete);
  return layoutOf(view, format.start, format.length);
}

function layoutOf(view: DataView, start: number, length: number): Layout {
  const named = view.getUint16(start, true);
  const kind = named === kinds.extensible && length >= 26 ? view.getUint16(start + 24, true) : named;
  const layout = {
    kind,
    channels: view.getUint16(start + 2, true),
    sampleRate: view.getUint32(start + 4, true),
    bits: view.getUint16(start + 14, true),
  };
  const known = kind === kinds.float ? [32, 64] : kind === kinds.integer ? [8, 16, 24, 32] : [];
  const isUsual = layout.channels > 0 && layout.channels <= mostChannels && layout.sampleRate > 0;
  if (!known.includes(layout.bits) || !isUsual)
    throw new SoundError('the WAV file holds samples of an unknown kind');
  return layout;
}

function channelsOf(
  view: DataView,
  data: Chunk,
  { kind, channels, bits }: Layout,
  mostFrames: number,
): Float32Array[] {
  const size = bits / 8;
  const frames = Math.min(mostFrames, Math.floor(data.length / (size * channels)));
  const read = reader(view, kind, bits);
  return Array.from({ length: channels }, (_, channel) => {
    const samples = new Float32Array(frames);
    for (let frame = 0; frame < frames; frame += 1)
      samples[frame] = read(data.start + (frame * channels + channel) * size);
    return samples;
  });
}

function reader(view: DataView, kind: number, bits: number): (at: number) => number {
  if (kind === kinds.float)
    return bits === 32 ? (at) => view.getFloat32(at, true) : (at) => view.getFloat64(at, true);
  if (bits === 8) return (at) => (view.getUint8(at) - 128) / 128;
  if (bits === 16) return (at) => view.getInt16(at, true) / 2 ** 15;
  if (bits === 24) return (at) => (view.getUint16(at, true) + view.getInt8(at + 2) * 2 ** 16) / 2 ** 23;
  return (at) => view.getInt32(at, true) / 2 ** 31;
}

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

/** Start and rate of the samples; undefined while it is too early to tell. */
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

/** Cuts a stream at whole 16-bit samples: an odd byte waits for the next chunk. */
export async function* alignSamples(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  let carry: number | undefined;
  for await (const chunk of chunks) {
    const bytes: Uint8Array = carry === undefined ? chunk : Uint8Array.from([carry, ...chunk]);
    const whole = bytes.length - (bytes.length % 2);
    carry = whole === bytes.length ? undefined : bytes[whole];
    if (whole > 0) yield bytes.subarray(0, whole);
  }
}
