import { checkRate, concatSamples, type Sound, SoundError } from './samples.ts';
import { decodeWav, isWav } from './wav.ts';

interface Decoder {
  readonly ready: Promise<void>;
  decode(bytes: Uint8Array): Decoded | Promise<Decoded>;
  flush?(): Promise<Decoded>;
  free(): void;
}

interface Decoded {
  channelData: Float32Array[];
  sampleRate: number;
}

type Format = 'wav' | 'flac' | 'vorbis' | 'opus' | 'mp3';

// Small, because a few bytes of compressed silence can hold minutes.
const stepBytes = 4096;

/**
 * Decodes a WAV, MP3, FLAC or OGG (Vorbis, Opus) file, told apart by content, whatever its name says.
 * Decoding stops soon after `mostSeconds`, so that a small file cannot fill the memory.
 */
export async function decodeSound(bytes: Uint8Array, mostSeconds: number): Promise<Sound> {
  const format = formatOf(bytes);
  if (format === undefined) throw new SoundError('the audio is no WAV, MP3, FLAC or OGG file');
  try {
    const isPlain = format === 'wav';
    const sound = isPlain ? decodeWav(bytes, mostSeconds) : await decodePacked(bytes, format, mostSeconds);
    checkRate(sound.sampleRate);
    return sound;
  } catch (error) {
    if (error instanceof SoundError) throw error;
    throw new SoundError('the audio cannot be decoded', { cause: error });
  }
}

async function decodePacked(
  bytes: Uint8Array,
  format: Exclude<Format, 'wav'>,
  mostSeconds: number,
): Promise<Sound> {
  const decoder = await decoders[format]();
  await decoder.ready;
  const pieces: Decoded[] = [];
  try {
    for (let at = 0; at < bytes.length && secondsOf(pieces) <= mostSeconds; at += stepBytes) {
      pieces.push(await decoder.decode(bytes.subarray(at, at + stepBytes)));
    }
    if (decoder.flush) pieces.push(await decoder.flush());
  } finally {
    decoder.free();
  }
  return joined(pieces);
}

/** Loaded with the first file of a format. */
const decoders: Record<Exclude<Format, 'wav'>, () => Promise<Decoder>> = {
  flac: async () => new (await import('@wasm-audio-decoders/flac')).FLACDecoder(),
  vorbis: async () => new (await import('@wasm-audio-decoders/ogg-vorbis')).OggVorbisDecoder(),
  opus: async () => new (await import('ogg-opus-decoder')).OggOpusDecoder(),
  mp3: async () => new (await import('mpg123-decoder')).MPEGDecoder(),
};

function secondsOf(pieces: readonly Decoded[]): number {
  return pieces.reduce((sum, piece) => sum + samplesIn(piece) / (piece.sampleRate || 1), 0);
}

function samplesIn({ channelData }: Decoded): number {
  return channelData[0]?.length ?? 0;
}

function joined(pieces: readonly Decoded[]): Sound {
  const filled = pieces.filter((piece) => samplesIn(piece) > 0);
  const [first] = filled;
  if (first === undefined) throw new SoundError('the audio cannot be decoded');
  const channels = first.channelData.map((_, channel) =>
    concatSamples(filled.map(({ channelData }) => channelData[channel] ?? new Float32Array())),
  );
  return { channels, sampleRate: first.sampleRate };
}

function formatOf(bytes: Uint8Array): Format | undefined {
  if (isWav(bytes)) return 'wav';
  const head = Buffer.from(bytes.subarray(0, 200)).toString('latin1');
  if (head.startsWith('fLaC')) return 'flac';
  if (head.startsWith('OggS')) return oggFormat(head);
  const isFrame = bytes[0] === 0xff && ((bytes[1] ?? 0) & 0xe6) === 0xe2;
  return head.startsWith('ID3') || isFrame ? 'mp3' : undefined;
}

function oggFormat(head: string): Format | undefined {
  if (head.includes('OpusHead')) return 'opus';
  return head.includes('\x01vorbis') ? 'vorbis' : undefined;
}
