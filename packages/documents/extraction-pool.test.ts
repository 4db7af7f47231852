import { pdfOf, pdfUnpackingTo, zipOf } from '@trunkline/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { ExtractionPool } from './extraction-pool.ts';

const pool = new ExtractionPool({ threads: 1, memoryMb: 64, residentMb: 300, timeoutMs: 200_000 });
afterAll(() => pool.stop());
const pdf = (bytes: Uint8Array) => ({ bytes, type: 'application/pdf', name: 'a.pdf' });

describe('a file that unpacks to more than there is memory for', () => {
  const attributes = Array.from({ length: 2_000_000 }, (_, at) => ` a${at}=""`).join('');
  it.each([
    // A few kilobytes each. In a thread such a line ends the whole service: V8 cannot end a thread within it.
    ['a line', pdf(pdfUnpackingTo(40, { isLine: true }))],
    ['a page', pdf(pdfUnpackingTo(500))],
    [
      'an element',
      {
        bytes: zipOf({ mimetype: 'x', 'content.xml': `<a><b${attributes}/></a>` }, { isDeflated: true }),
        type: 'application/vnd.oasis.opendocument.text',
        name: 'a.odt',
      },
    ],
  ])('is refused in words, and the next is read: %s', async (_, raw) => {
    await expect(pool.extract(raw)).rejects.toThrow('takes too much memory to read');
    expect((await pool.extract(pdf(pdfOf('The lock is 24 m wide.')))).text).toBe('The lock is 24 m wide.');
  });
});
