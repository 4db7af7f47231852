/** Turns 16-bit mono samples into MP3, piece by piece. */
export interface Mp3Encoder {
  encode(samples: Uint8Array): Uint8Array;
  /** The rest, after the last samples. */
  finish(): Uint8Array;
}

const bitrate = 128;

/** The encoder (LAME as WebAssembly) is an optional package and loaded when the first MP3 is asked for. */
export async function createMp3Encoder(sampleRate: number): Promise<Mp3Encoder> {
  const lame = await load();
  lame.configure({ channels: 1, sampleRate, bitrate });
  return {
    // What the encoder gives back is overwritten by its next call.
    encode: (samples) => lame.encode([floatsOf(samples)]).slice(),
    finish: () => lame.finalize().slice(),
  };
}

async function load() {
  try {
    const library = await import('wasm-media-encoders/esnext');
    return await library.createMp3Encoder();
  } catch (cause) {
    throw new Error('MP3 needs the optional package wasm-media-encoders: install it, or ask for wav or pcm', {
      cause,
    });
  }
}

function floatsOf(bytes: Uint8Array): Float32Array {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Float32Array.from(
    { length: bytes.length / 2 },
    (_, index) => view.getInt16(index * 2, true) / 2 ** 15,
  );
}
