import { encodeWav } from '../audio/wav.ts';
import { createMp3Encoder } from './mp3.ts';

export const speechFormats = ['mp3', 'wav', 'pcm'] as const;
export type SpeechFormat = (typeof speechFormats)[number];

type Bytes = AsyncIterable<Uint8Array>;

interface Converter {
  contentType: string;
  convert(samples: Bytes, sampleRate: number): AsyncGenerator<Uint8Array, void>;
}

/** How 16-bit mono samples are handed on in each format. */
export const converters: Record<SpeechFormat, Converter> = {
  wav: { contentType: 'audio/wav', convert: toWav },
  pcm: { contentType: 'audio/pcm', convert: toPcm },
  mp3: { contentType: 'audio/mpeg', convert: toMp3 },
};

/** The length stands in the header, so the file is given whole. */
async function* toWav(samples: Bytes, sampleRate: number): AsyncGenerator<Uint8Array, void> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of samples) chunks.push(chunk);
  yield encodeWav(Buffer.concat(chunks), sampleRate);
}

async function* toPcm(samples: Bytes): AsyncGenerator<Uint8Array, void> {
  yield* samples;
}

async function* toMp3(samples: Bytes, sampleRate: number): AsyncGenerator<Uint8Array, void> {
  const encoder = await createMp3Encoder(sampleRate);
  for await (const chunk of samples) {
    const bytes = encoder.encode(chunk);
    if (bytes.length > 0) yield bytes;
  }
  yield encoder.finish();
}
