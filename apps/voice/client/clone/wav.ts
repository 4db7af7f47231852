const HEADER_BYTES = 44;

/** A WAV file of 16-bit mono samples. */
export function encodeWav(blocks: readonly Float32Array[], sampleRate: number): Blob {
  const length = blocks.reduce((sum, block) => sum + block.length, 0);
  const view = new DataView(new ArrayBuffer(HEADER_BYTES + length * 2));
  writeHeader(view, length * 2, sampleRate);
  let at = HEADER_BYTES;
  for (const block of blocks) {
    for (const sample of block) {
      view.setInt16(at, Math.max(-1, Math.min(1, sample)) * 0x7fff, true);
      at += 2;
    }
  }
  return new Blob([view.buffer], { type: 'audio/wav' });
}

function writeHeader(view: DataView, bytes: number, sampleRate: number): void {
  const put = (at: number, text: string) => {
    for (let index = 0; index < text.length; index += 1) view.setUint8(at + index, text.charCodeAt(index));
  };
  put(0, 'RIFF');
  view.setUint32(4, HEADER_BYTES - 8 + bytes, true);
  put(8, 'WAVEfmt ');
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, sampleRate, true);
  view.setUint32(28, sampleRate * 2, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  put(36, 'data');
  view.setUint32(40, bytes, true);
}
