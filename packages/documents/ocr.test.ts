import { pdfScanned } from '@trunkline/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { ExtractionError } from './document.ts';
import { ExtractionPool } from './extraction-pool.ts';
import { extractPdf } from './pdf.ts';
import type { Scan } from './pdf-pictures.ts';
import { extract } from './read.ts';

const pool = new ExtractionPool({ threads: 1 });
afterAll(() => pool.stop());

/** Letters as rows of five dots, the leftmost dot being 16. */
const LETTERS: Record<string, number[]> = {
  H: [17, 17, 17, 31, 17, 17, 17],
  I: [14, 4, 4, 4, 4, 4, 14],
  G: [14, 17, 16, 23, 17, 17, 14],
  T: [31, 4, 4, 4, 4, 4, 4],
  E: [31, 16, 16, 30, 16, 16, 31],
  A: [14, 17, 17, 31, 17, 17, 17],
};
const DOT = 7;

/** A page with words drawn large. */
function drawn(words: string, width = 1000, height = 300): Uint8Array {
  const pixels = new Uint8Array(width * height).fill(255);
  for (const [place, letter] of [...words].entries())
    for (const [row, dots] of (LETTERS[letter] ?? []).entries())
      for (let y = 0; y < DOT; y += 1)
        for (let x = 0; x < DOT * 5; x += 1)
          if ((dots >> (4 - Math.floor(x / DOT))) & 1)
            pixels[(100 + row * DOT + y) * width + 60 + place * DOT * 7 + x] = 0;
  return pdfScanned(width, height, pixels);
}

it('recognises the text of a scan, and does not take it for the whole', async () => {
  const scan = { bytes: drawn('HIGH AT EIGHT'), type: 'application/pdf', name: 'scan.pdf' };
  const { text, isWhole } = await pool.extract(scan);
  expect(text).toContain('HIGH AT EIGHT');
  expect(isWhole).toBe(false);
});

describe('pages that are pictures', () => {
  const pixels = new Uint8Array(16 * 8).fill(255);
  const pdf = (options: Parameters<typeof pdfScanned>[3], size = 16, data = pixels) => ({
    bytes: pdfScanned(size, size / 2, data, options),
    type: 'application/pdf',
    name: 'report.pdf',
  });
  /** Recognises every scan as its number. */
  const counting = () => {
    const scans: Scan[] = [];
    const recognise = async (scan: Scan) => `Scan ${scans.push(scan)}.`;
    return { scans, open: async () => ({ recognise, close: async () => undefined }) };
  };

  it('do not keep anybody from the text beside them', async () => {
    const mixed = pdf({ pages: 25, text: 'Tides of the sound.' });
    expect(await extract(mixed)).toMatchObject({ text: 'Tides of the sound.', isWhole: false });
    const failing = () => Promise.reject(new ExtractionError('has no recogniser'));
    expect(await extractPdf(mixed, failing)).toMatchObject({ text: 'Tides of the sound.', isWhole: false });
    expect(await pool.extract(mixed, { isFromWeb: true })).toEqual(
      expect.not.objectContaining({ hasPictures: true, isWhole: true }),
    );
    const { scans, open } = counting();
    expect((await extractPdf(mixed, open)).text).toMatch(/^Tides of the sound\.\n\nScan 1\..*Scan 20\.$/s);
    expect(scans).toHaveLength(20);
  });

  it('are counted before they are decoded', async () => {
    const { scans, open } = counting();
    await expect(extractPdf(pdf({ pages: 21 }), open)).rejects.toThrow('is a scan of 21 pages');
    await expect(extractPdf(pdf({}, 25_000), open)).rejects.toThrow('larger than 40 megapixels');
    expect(scans).toEqual([]);
  });

  it('may be in black and white', async () => {
    const { scans, open } = counting();
    const bits = new Uint8Array(16).fill(0b1010_0101);
    expect((await extractPdf(pdf({ bits: 1 }, 16, bits), open)).text).toBe('Scan 1.');
    const row = [255, 0, 255, 0, 0, 255, 0, 255];
    expect([...(scans[0]?.data.slice(0, 16) ?? [])]).toEqual([...row, ...row]);
  });

  it('are refused in words if they are too large', async () => {
    const png = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1'), Buffer.alloc(17)]);
    png.writeUInt32BE(20_000, 16);
    png.writeUInt32BE(20_000, 20);
    const jpeg = Buffer.from('ffd8ffe000040000ffc0000b084e204e2001011100', 'hex');
    const webp = Buffer.from('524946460000000057454250565038580a00000000000000ff3f00ff3f00', 'hex');
    for (const [type, bytes] of [
      ['image/png', png],
      ['image/jpeg', jpeg],
      ['image/webp', webp],
    ] as const)
      await expect(extract({ bytes, type, name: 'x', mayRecognise: true })).rejects.toThrow('40 megapixels');
  });
});
