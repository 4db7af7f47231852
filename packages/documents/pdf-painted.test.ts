// PDFs of ReportLab 3.6, cairo 1.16 and Ghostscript 10.0: each "Seen ..." line can be read on the page, and no "Ghost ..." line.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { extract } from './read.ts';

const PAINTED: Readonly<Record<string, { seen: readonly string[]; ghosts: number }>> = {
  // In grey, CMYK, a spot colour without ink, modes 1, 2, 3 and 7.
  'reportlab-inks': { seen: ['base'], ghosts: 7 },
  'ghostscript-inks': { seen: ['base'], ghosts: 7 },
  // White and turned, oblique, skewed and stretched; and black.
  'reportlab-turned': { seen: ['base', 'turned'], ghosts: 4 },
  'ghostscript-turned': { seen: ['base', 'turned'], ghosts: 4 },
  // Behind a white and a black rectangle, and without opacity; below a highlighter and inside a frame.
  'reportlab-covered': { seen: ['base', 'beside diamond', 'framed', 'marked'], ghosts: 3 },
  'ghostscript-covered': { seen: ['base', 'beside diamond', 'framed', 'marked'], ghosts: 3 },
  // A dark page part, the head of a table, a white rectangle that is clipped.
  'reportlab-dark': {
    seen: [
      'base',
      'black on clipped white',
      'black on paper',
      'head of table',
      'white beside the clip',
      'white on dark',
    ],
    ghosts: 2,
  },
  // In form XObjects, and on a gradient that is clipped.
  'reportlab-forms': { seen: ['base', 'in a form', 'on a gradient'], ghosts: 2 },
  // Black beside a black diamond, arc and turned square, inside the boxes around them.
  'reportlab-shapes': {
    seen: ['above the arc', 'base', 'corner b', 'in the corner', 'white in the diamond'],
    ghosts: 0,
  },
  // Written by hand: a layer that is off, one that is on, and a white rectangle of the first on the second.
  layers: { seen: ['layer'], ghosts: 1 },
  // Groups with and without opacity, a picture, a clip, a rectangle that multiplies.
  'cairo-mix': {
    seen: ['base', 'black by clip', 'in group', 'on blue', 'on gradient', 'on image'],
    ghosts: 2,
  },
};

it.each(Object.entries(PAINTED))(
  'has what is seen of %s, and nothing else',
  async (name, { seen, ghosts }) => {
    const bytes = new Uint8Array(
      readFileSync(join(import.meta.dirname, 'fixtures', 'painted', `${name}.pdf`)),
    );
    const { text, hidden } = await extract({ bytes, type: 'application/pdf', name });
    const flat = text.replace(/\s+/g, ' ');
    expect(flat).not.toContain('Ghost');
    expect([...flat.matchAll(/Seen (.*?) stands here/g)].map(([, words]) => words).sort()).toEqual(seen);
    expect(hidden).toBeGreaterThanOrEqual(ghosts * 25);
  },
);
