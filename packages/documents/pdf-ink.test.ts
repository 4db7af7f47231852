// Text of a PDF that nobody sees: what counts is what is painted, and on what.
import { pdfDrawing } from '@trunkline/testing';
import { describe, expect, it } from 'vitest';
import { extract } from './read.ts';

const SEEN = 'The lock is 24 m wide and was opened in 1966.';
const GHOST = 'Nobody sees the figure 2007 here.';
const BLACK = `0 g BT /F1 12 Tf 50 700 Td (${SEEN}) Tj ET`;
const ghost = (before = '', size = 12) => `BT ${before} /F1 ${size} Tf 50 600 Td (${GHOST}) Tj ET`;
const PICTURE = 'q 600 0 0 800 0 0 cm /P Do Q';

const read = async (...content: string[]) =>
  await extract({ bytes: pdfDrawing(content.join('\n')), type: 'application/pdf', name: 'a.pdf' });

describe('a PDF', () => {
  it.each([
    ['white on paper', `1 g ${ghost()}`],
    ['nearly white on paper', `0.99 0.98 0.99 rg ${ghost()}`],
    ['the colour of the band below it', `0 0 0.4 rg 0 580 600 60 re f ${ghost()}`],
    ['white on white on a colour', `0 0 0.4 rg 0 500 600 200 re f 1 g 0 580 600 60 re f ${ghost()}`],
    ['no ink', ghost('3 Tr')],
    ['no ink but as a clip', `q ${ghost('7 Tr')} Q`],
    ['a white line around its letters alone', `1 G ${ghost('1 Tr')}`],
    ['white with a white line', `1 g 1 G ${ghost('2 Tr')}`],
    ['white on its side', `1 g BT /F1 12 Tf 0 1 -1 0 300 100 Tm (${GHOST}) Tj ET`],
    ['white and skewed', `1 g BT /F1 12 Tf 1 0 0.3 1 50 600 Tm (${GHOST}) Tj ET`],
    ['white on the line below another', `1 g BT /F1 12 Tf 14 TL 50 600 Td T* (${GHOST}) Tj ET`],
    ['black under a white rectangle', `0 g ${ghost()} 1 g 40 580 500 60 re f`],
    ['black outside of its clip', `q 0 0 20 20 re W n 0 g ${ghost()} Q`],
    ['white beside a clipped black', `q 0 0 20 20 re W n 0 g 0 0 600 800 re f Q 1 g ${ghost()}`],
  ])('is without text in %s, which is counted', async (_, content) => {
    const { text, hidden, isWhole } = await read(BLACK, content);
    expect([text, hidden, isWhole]).toEqual([SEEN, GHOST.length, false]);
  });

  it.each([
    ['white on a colour', `0 0 0.4 rg 0 580 600 60 re f 1 g ${ghost()}`],
    ['white on a picture', `${PICTURE} 1 g ${ghost()}`],
    ['white in a colour that has curves', `0 0 0.4 rg 0 580 m 300 900 600 900 600 580 c f 1 g ${ghost()}`],
    ['white with a line round its letters', `1 g ${ghost('2 Tr')}`],
    ['a colour on paper', `0.7 g ${ghost()}`],
    ['black beside a clipped black', `q 0 0 20 20 re W n 0 g 0 0 600 800 re f Q 0 g ${ghost()}`],
    ['black beside a black diamond', `0 g 300 0 m 600 300 l 300 610 l 0 300 l h f ${ghost()}`],
    ['black below a black arc', `0 g 0 580 m 300 580 300 620 600 700 c h f 0 g ${ghost()}`],
    ['black in a hole', `0 g 0 580 600 60 re 10 590 500 40 re f* ${ghost()}`],
    ['black under a frame', `0 g ${ghost()} 40 580 500 60 re S`],
    ['black under a picture that was put on it', `0 g ${ghost()} q 600 0 0 60 0 580 cm /P Do Q`],
    ['as a clip for a picture', `q ${ghost('7 Tr')} ${PICTURE} Q`],
    ['the layer of text over a scan', `${PICTURE} ${ghost('3 Tr')}`],
    ['the layer of text below a scan', `${ghost('3 Tr')} ${PICTURE}`],
  ])('keeps %s', async (_, content) => {
    const { text, hidden } = await read(content, BLACK);
    expect(text).toContain(GHOST);
    expect(hidden).toBe(0);
  });

  it('loses only the part of a line that is white', async () => {
    const content = 'BT /F1 12 Tf 50 700 Td (It was opened in ) Tj 1 g (1807 ) Tj 0 g (1966.) Tj ET';
    const { text, hidden } = await read(content);
    expect(text.replace(/\s+/g, ' ')).toBe('It was opened in 1966.');
    expect(hidden).toBeGreaterThan(3);
  });
});
