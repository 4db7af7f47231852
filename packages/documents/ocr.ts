import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { ExtractionError } from './document.ts';
import type { Recogniser } from './pdf.ts';
import { MOST_PIXELS, type Scan } from './pdf-pictures.ts';

const MISSING =
  'holds pictures of text, and the packages that recognise it are not installed. Run `npm install tesseract.js @tesseract.js-data/eng`, or upload a version with text';

const TOO_LARGE = `is a picture of more than ${MOST_PIXELS / 1_000_000} megapixels. Make it smaller, or cut out the part with the text`;

/** Recognises scanned pages, one after the other. */
export async function openRecogniser(): Promise<Recogniser> {
  const { recognise, close } = await open();
  return { recognise: (scan) => recognise(bitmapOf(scan)), close };
}

/** The text of a PNG, JPEG or WebP picture. */
export async function recognisePicture(bytes: Uint8Array): Promise<string> {
  const picture = Buffer.from(bytes);
  // What is decoded counts towards no limit of memory.
  const { width, height } = sizeOf(picture);
  if (width * height > MOST_PIXELS) throw new ExtractionError(TOO_LARGE);
  const { recognise, close } = await open();
  try {
    return await recognise(picture);
  } finally {
    await close();
  }
}

async function open(): Promise<{ recognise(picture: Buffer): Promise<string>; close(): Promise<void> }> {
  const { createWorker, langPath } = load();
  const worker = await createWorker('eng', 1, {
    langPath,
    cacheMethod: 'none',
    gzip: true,
    errorHandler: () => undefined,
  });
  return {
    async recognise(picture) {
      try {
        return (await worker.recognize(picture)).data.text;
      } catch (error) {
        throw new ExtractionError(`is a picture that cannot be read: ${String(error)}`, { cause: error });
      }
    },
    close: async () => void (await worker.terminate()),
  };
}

/** Width and height as the head of a PNG, WebP or JPEG file gives them. */
function sizeOf(picture: Buffer): { width: number; height: number } {
  try {
    if (picture.toString('latin1', 1, 4) === 'PNG')
      return { width: picture.readUInt32BE(16), height: picture.readUInt32BE(20) };
    if (picture.toString('latin1', 8, 12) === 'WEBP') return sizeOfWebp(picture);
    if (picture.readUInt16BE(0) === 0xffd8) return sizeOfJpeg(picture);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
  throw new ExtractionError('is no PNG, JPEG or WebP picture that can be read');
}

function sizeOfWebp(picture: Buffer): { width: number; height: number } {
  const kind = picture.toString('latin1', 12, 16);
  if (kind === 'VP8X') return { width: picture.readUIntLE(24, 3) + 1, height: picture.readUIntLE(27, 3) + 1 };
  if (kind === 'VP8L') {
    const bits = picture.readUInt32LE(21);
    return { width: (bits & 0x3fff) + 1, height: ((bits >> 14) & 0x3fff) + 1 };
  }
  return { width: picture.readUInt16LE(26) & 0x3fff, height: picture.readUInt16LE(28) & 0x3fff };
}

function sizeOfJpeg(picture: Buffer): { width: number; height: number } {
  for (let at = 2; ; ) {
    const marker = picture.readUInt8(at + 1);
    // Frames are all of C0 to CF but for three tables.
    if (marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc)
      return { height: picture.readUInt16BE(at + 5), width: picture.readUInt16BE(at + 7) };
    at += marker === 0xff ? 1 : 2 + picture.readUInt16BE(at + 2);
  }
}

/** What is used of tesseract.js, whose types are there only where it is installed. */
interface Tesseract {
  createWorker(
    language: string,
    mode: number,
    options: { langPath: string; cacheMethod: 'none'; gzip: boolean; errorHandler: () => void },
  ): Promise<{
    recognize(picture: Buffer): Promise<{ data: { text: string } }>;
    terminate(): Promise<unknown>;
  }>;
}

/** Tesseract and its data for English, which are optional. */
function load(): Tesseract & { langPath: string } {
  const require = createRequire(import.meta.url);
  try {
    const data = require.resolve('@tesseract.js-data/eng/package.json');
    const { createWorker } = require('tesseract.js') as Tesseract;
    return { createWorker, langPath: join(dirname(data), '4.0.0_best_int') };
  } catch (error) {
    throw new ExtractionError(MISSING, { cause: error });
  }
}

const HEADER = 54;

/** A picture as an uncompressed bitmap of 24 bits, which is what every decoder reads. */
function bitmapOf({ width, height, channels, data }: Scan): Buffer {
  const stride = Math.ceil((width * 3) / 4) * 4;
  const bitmap = Buffer.alloc(HEADER + stride * height);
  bitmap.write('BM', 0, 'latin1');
  bitmap.writeUInt32LE(bitmap.length, 2);
  bitmap.writeUInt32LE(HEADER, 10);
  bitmap.writeUInt32LE(40, 14);
  bitmap.writeInt32LE(width, 18);
  bitmap.writeInt32LE(height, 22);
  bitmap.writeUInt16LE(1, 26);
  bitmap.writeUInt16LE(24, 28);
  bitmap.writeUInt32LE(stride * height, 34);
  for (let y = 0; y < height; y += 1)
    for (let x = 0; x < width; x += 1) {
      const from = (y * width + x) * channels;
      const to = HEADER + (height - 1 - y) * stride + x * 3;
      const red = data[from] ?? 0;
      bitmap[to] = channels === 1 ? red : (data[from + 2] ?? 0);
      bitmap[to + 1] = channels === 1 ? red : (data[from + 1] ?? 0);
      bitmap[to + 2] = red;
    }
  return bitmap;
}
