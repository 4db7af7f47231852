import { describe, expect, it } from 'vitest';
import { layouts, scoreOf } from '../fixtures/layouts.ts';
import { extractHtml } from './html.ts';

const read = (html: string) => extractHtml(`<html><body>${html}</body></html>`, 'page');
const mainOf = ({ text, mainLength }: { text: string; mainLength: number }) => text.slice(0, mainLength);
const prose =
  'The harbour was dredged in 1962 and has been eleven metres deep since then, as the pilots say.';

describe('the layouts of our set', () => {
  const set = layouts();
  const scored = scoreOf(
    set.map((layout) => {
      const document = extractHtml(layout.html, 'page');
      return { layout, text: document.text, main: mainOf(document) };
    }),
  );

  it('are many, and keep their text', () => {
    expect(set.length).toBeGreaterThanOrEqual(60);
    expect(scored.missing).toEqual([]);
    expect(scored.kept).toBe(1);
  });

  it('have their content in the main part, and little else', () => {
    expect(scored.inMain).toBeGreaterThanOrEqual(0.98);
    expect(scored.boilerplate).toBeLessThanOrEqual(0.02);
  });

  it('show nothing that no reader sees, and count it', () => {
    expect(scored.leaked).toBe(0);
    const styled = set.filter(({ hidden }) => hidden.length > 0);
    expect(styled.length).toBeGreaterThan(0);
    for (const { html } of styled) expect(extractHtml(html, 'page').hidden).toBeGreaterThan(200);
  });
});

describe('structure', () => {
  it('of tables: heads on every cell that spans, long tables in pieces with their head', () => {
    const spanned = read(
      `<main><p>${prose}</p><table><tr><th>Quay</th><th>Berth</th></tr><tr><td rowspan="2">North</td><td>1</td></tr><tr><td>2</td></tr></table></main>`,
    );
    expect(spanned.text).toContain('| Quay | Berth |\n| --- | --- |\n| North | 1 |\n| North | 2 |');
    const rows = Array.from({ length: 90 }, (_, row) => `<tr><td>${row}</td><td>x${row}</td></tr>`).join('');
    const long = read(`<main><table><tr><th>Number</th><th>Sign</th></tr>${rows}</table></main>`);
    expect(long.text.match(/\| Number \| Sign \|/g)).toHaveLength(3);
    expect(long.blocks.map(({ kind }) => kind)).toEqual(['table', 'table', 'table']);
  });

  it('of tables: a page does not grow a thousandfold by cells that span', () => {
    const cell = `<td colspan="50" rowspan="50">${'tide '.repeat(100)}</td>`;
    const row = `<tr>${cell}</tr>`.repeat(100);
    const { text } = read(
      `<main><p>${prose}</p><table><tr><th>Quay</th><th>Berth</th></tr>${row}</table></main>`,
    );
    expect(text.length).toBeLessThan(2_000_000);
    expect(text.match(/tide/g)?.length).toBeGreaterThanOrEqual(100 * 100);
  });

  it('of pairs: a term stands with its definition', () => {
    const { text } = read(
      `<main><p>${prose}</p><table><tr><th>Founded</th><td>1901</td></tr></table><dl><dt>Depth</dt><dd>11 m</dd><dd>at low water</dd><dt>Owner</dt><dd><ul><li>the town</li></ul></dd></dl></main>`,
    );
    expect(text).toContain('- Founded: 1901\n- Depth: 11 m\n- Depth: at low water\n- Owner');
    expect(text).toContain('- the town');
  });

  it('of powers, notes, code and breaks', () => {
    const { text } = read(
      `<main><p>${prose} It holds 3 × 10<sup>6</sup> m<sup>3</sup>.<sup><a href="#n1">1</a></sup></p><pre>a[12] = 1\n  b</pre><p>Pier 1<br>Old town</p></main>`,
    );
    expect(text).toContain('3 × 10⁶ m³.\n\n```\na[12] = 1\n  b\n```\n\nPier 1\nOld town');
  });

  it('names main, side and note blocks by their places', () => {
    const { text, blocks } = read(
      `<main><h1>Harbour</h1><p>${prose}</p><aside>Side box of 1907.</aside></main><nav>Menu here</nav>`,
    );
    expect(blocks.map(({ kind, region, start, end }) => [kind, region, text.slice(start, end)])).toEqual([
      ['heading', 'main', '# Harbour'],
      ['paragraph', 'main', prose],
      ['paragraph', 'side', 'Side box of 1907.'],
      ['paragraph', 'chrome', 'Menu here'],
    ]);
  });
});

describe('what is hidden', () => {
  it.each([
    [
      'text in a colour of its own on a dark ground',
      '<div style="background:#000"><p style="color:#fff">',
      true,
    ],
    ['a picture behind white text', '<div style="background:url(x.png)"><p style="color:#fff">', true],
    ['small type that a child enlarges', '<div style="font-size:0"><p style="font-size:14px">', true],
    ['a rule for print', '<style>@media print{.p{display:none}}</style><div><p class="p">', true],
    ['a panel that a button opens', '<button aria-controls="b">Open</button><div id="b" hidden><p>', true],
    ['black on black', '<div style="background:#000;color:black"><p>', false],
    [
      'a class that is taken back by two',
      '<style>.a{display:none}.a.b{display:block}</style><div><p class="a b">',
      true,
    ],
    ['a class alone', '<style>.a{display:none}.a.b{display:block}</style><div><p class="a">', false],
    ['a closed dialog', '<dialog><p>', false],
    ['text moved off the screen', '<div style="position:absolute;top:-5000px"><p>', false],
    ['code that is not shown', '<pre>a<span style="display:none">', false],
    ['code without size', '<pre style="font-size:0.01em">', false],
    ['a definition that is not shown', '<dl><dt>A</dt><dd style="display:none">', false],
    [
      'a panel that a hidden button opens',
      '<button hidden aria-controls="b">B</button><p id="b" hidden>',
      false,
    ],
    ['a panel that nothing opens', '<i aria-controls="b"></i><p id="b" style="display:none">', false],
    ['a panel off the screen', '<button aria-controls="b">B</button><p id="b" style="left:-9999px">', false],
    [
      'an important rule',
      '<style>.x{display:none!important}</style><p class="x" style="display:block">',
      false,
    ],
    ['text without colour', '<div><p style="color:transparent">', false],
  ])('%s', (_, opening, isSeen) => {
    const { text, hidden } = read(`<main><p>${prose}</p>${opening}The cable weighs nine tonnes.</main>`);
    expect(text.includes('nine tonnes')).toBe(isSeen);
    expect(hidden > 0).toBe(!isSeen);
  });

  it('is doubtful where the ground is not known', () => {
    const white = '<p style="color:#fff;background-image:url(data:,)">White words here.</p>';
    const document = read(`<main><p>${prose}</p>${white}</main>`);
    expect(mainOf(document)).not.toContain('White words');
    expect(document.text).toContain('White words');
  });

  it('is doubtful where a stylesheet was not read: kept, but beside the main part', () => {
    const document = extractHtml(
      `<link rel="stylesheet" href="a.css"><main><p>${prose}</p><p style="color:white">White words here.</p></main>`,
      'page',
    );
    expect(mainOf(document)).not.toContain('White words');
    expect(document.text).toContain('White words');
  });
});

it.each([
  ['breaks', `<div>${'A line of the log, by hand.<br>\n'.repeat(40_000)}</div>`],
  ['items', `<ol>${'<li>One</li>'.repeat(60_000)}</ol>`],
  ['definitions', `<dl>${'<dt>A</dt><dd>b</dd>'.repeat(40_000)}</dl>`],
  ['spaces in code', `<pre>${' '.repeat(300_000)}x</pre>`],
  ['comments', `<style>${'/*'.repeat(200_000)}</style>`],
  ['headings', '<h2>One</h2><aside>b</aside>'.repeat(20_000)],
  ['lines of a drawing', `<svg>${'<path d="M0 0h9"/>'.repeat(10_500)}</svg>`],
  ['elements in a comment', `<!--${'<div>'.repeat(10_500)}-->`],
  [
    'rules for one class',
    `<style>${'.a{color:red}'.repeat(19_000)}</style>${'<p class="a">b</p>'.repeat(100_000)}`,
  ],
  ['digits of a size', `<p style="font:${'1'.repeat(900_000)}">a</p>`],
  ['comparisons in a script', `<script>${'if (a<b && c) d();'.repeat(10_500)}</script>`],
])('a page of many %s is read in little time', (_, html) => {
  expect(read(`${html}<p>${prose}</p>`).text).toContain('dredged');
});

it.each(['-1', '100000000', 'x'])('a heading of level %s is one', (level) => {
  const { text } = read(
    `<main><div role="heading" aria-level="${level}">Harbour</div><p>${prose}</p></main>`,
  );
  expect(text).toMatch(/^#{1,6} Harbour/);
});

it('a page nested without end keeps its text', () => {
  const { text } = read(`${'<div>'.repeat(5000)}${prose}${'</div>'.repeat(5000)}<p>After it.</p>`);
  expect(text).toContain(prose);
  expect(text).toContain('After it.');
});
