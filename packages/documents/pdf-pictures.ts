import { getDocumentProxy, getResolvedPDFJS } from 'unpdf';

/** Larger pictures are not decoded: one in a single colour takes kilobytes in a file and gigabytes unpacked. */
export const MOST_PIXELS = 40_000_000;

type Pdf = Awaited<ReturnType<typeof getDocumentProxy>>;
type Page = Awaited<ReturnType<Pdf['getPage']>>;

/** A page of a PDF as a picture. */
export interface Scan {
  width: number;
  height: number;
  channels: 1 | 3 | 4;
  data: Uint8Array | Uint8ClampedArray;
}

/** A document whose text is read; no picture in it is decoded. */
export async function openPdf(bytes: Uint8Array): Promise<Pdf> {
  return await getDocumentProxy(new Uint8Array(bytes), { verbosity: 0, maxImageSize: 0 });
}

/** Tells what pages without text show instead, without decoding it. */
export class PageContents {
  readonly #bytes: Uint8Array;
  #strict: Pdf | undefined;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Of a page of `openPdf`, which leaves pictures out; where they are errors, what is painted ends at the first. */
  async of(page: Page): Promise<'picture' | 'drawing' | 'nothing'> {
    this.#strict ??= await getDocumentProxy(new Uint8Array(this.#bytes), {
      verbosity: 0,
      maxImageSize: 0,
      stopAtErrors: true,
    });
    const same = await this.#strict.getPage(page.pageNumber);
    const [{ fnArray }, strict] = [await page.getOperatorList(), await same.getOperatorList()];
    same.cleanup();
    if (strict.fnArray.length < fnArray.length) return 'picture';
    const { OPS } = await getResolvedPDFJS();
    const drawn = new Set<number>([OPS.constructPath, OPS.stroke, OPS.fill, OPS.shadingFill]);
    return fnArray.some((each) => drawn.has(each)) ? 'drawing' : 'nothing';
  }
}

/** Decodes the largest pictures of pages, one page at a time. */
export class PagePictures {
  readonly #bytes: Uint8Array;
  #document: Pdf | undefined;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  /** Undefined where all pictures of a page are too large or of an unknown kind. */
  async largest(number: number): Promise<Scan | undefined> {
    this.#document ??= await getDocumentProxy(new Uint8Array(this.#bytes), {
      verbosity: 0,
      maxImageSize: MOST_PIXELS,
    });
    const page = await this.#document.getPage(number);
    const { argsArray } = await page.getOperatorList();
    let best: Picture | undefined;
    for (const [given] of argsArray.map((args: unknown) => (Array.isArray(args) ? args : []))) {
      const picture = await pictureOf(page, given);
      if (picture !== undefined && (best === undefined || areaOf(picture) > areaOf(best))) best = picture;
    }
    page.cleanup();
    return best && scanOf(best);
  }
}

interface Picture {
  width: number;
  height: number;
  data: Uint8Array | Uint8ClampedArray;
}

/** The picture that an operator paints: given with it, or by a name. */
async function pictureOf(page: Page, given: unknown): Promise<Picture | undefined> {
  if (isPicture(given)) return given;
  const name = typeof given === 'string' ? given : (given as { data?: unknown } | undefined)?.data;
  if (typeof name !== 'string' || !/(?:^|_)(?:img|mask)_/.test(name)) return undefined;
  const objects = name.startsWith('g_') ? page.commonObjs : page.objs;
  const found = await new Promise((resolve) => objects.get(name, resolve));
  return isPicture(found) ? found : undefined;
}

function isPicture(value: unknown): value is Picture {
  const { width, height, data } = (value ?? {}) as Partial<Picture>;
  return (
    typeof width === 'number' &&
    typeof height === 'number' &&
    (data instanceof Uint8Array || data instanceof Uint8ClampedArray)
  );
}

function areaOf({ width, height }: Picture): number {
  return width * height;
}

function scanOf({ width, height, data }: Picture): Scan | undefined {
  const channels = data.length / (width * height);
  if (channels === 1 || channels === 3 || channels === 4) return { width, height, channels, data };
  const stride = Math.ceil(width / 8);
  if (data.length < stride * height) return undefined;
  // One bit a pixel, as office scanners write.
  const grey = new Uint8Array(width * height);
  for (let y = 0; y < height; y += 1)
    for (let x = 0; x < width; x += 1)
      if ((data[y * stride + (x >> 3)] ?? 0) & (128 >> (x & 7))) grey[y * width + x] = 255;
  return { width, height, channels: 1, data: grey };
}
