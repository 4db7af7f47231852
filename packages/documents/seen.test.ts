// What a reader sees of a page or file is kept, and nothing else counts as its text.
import { docxOf, zipOf } from '@trunkline/testing';
import { describe, expect, it } from 'vitest';
import { extract } from './read.ts';

const SEEN = 'The lock is 24 m wide and was opened in 1966.';
const GHOST = 'Nobody sees the figure 2007 here.';
const readPage = async (markup: string) => {
  const html = `<!doctype html><html><head><title>Locks</title></head><body><main><p>${SEEN}</p>${markup}</main></body></html>`;
  return await extract({ bytes: Buffer.from(html), type: 'text/html', charset: 'utf-8', name: 'page' });
};
const readFile = async (name: string, bytes: Uint8Array) => await extract({ bytes, type: '', name });

describe('a page', () => {
  it.each([
    ['content that is not rendered', `<p style="content-visibility:hidden">${GHOST}</p>`],
    ['a filter', `<p style="filter:opacity(0)">${GHOST}</p>`],
    ['the size in the shorthand', `<p style="font:0/0 a">${GHOST}</p>`],
    ['a colour with nothing in it', `<p style="color:#ffff0000">${GHOST}</p>`],
    ['a colour behind a slash', `<p style="color:rgb(0 0 0 / 0%)">${GHOST}</p>`],
    ['the fill of its letters', `<p style="-webkit-text-fill-color:transparent">${GHOST}</p>`],
    ['white in other words', `<p style="color:hsl(0,0%,100%)">${GHOST}</p>`],
    ['white in parts of a hundred', `<p style="color:rgb(100% 100% 100%);background:#fff">${GHOST}</p>`],
    ['a place below the page', `<p style="position:absolute;bottom:-9999px">${GHOST}</p>`],
    ['a place beside the page', `<p style="position:fixed;inset:0 auto auto -9999px">${GHOST}</p>`],
    ['no width', `<p style="transform:scaleX(0)">${GHOST}</p>`],
    ['no scale', `<p style="scale:0">${GHOST}</p>`],
    ['a circle of nothing', `<p style="clip-path:circle(0)">${GHOST}</p>`],
    ['a polygon of one point', `<p style="clip-path:polygon(0 0,0 0,0 0)">${GHOST}</p>`],
    ['no height', `<p style="height:0;overflow-y:hidden">${GHOST}</p>`],
    ['a popover that nothing opens', `<div popover>${GHOST}</div>`],
    ['a drawing of no size', `<svg width="0" height="0"><text>${GHOST}</text></svg>`],
    ['an attribute of a label', `<svg><text display="none">${GHOST}</text></svg>`],
    ['a label without ink', `<svg><text fill="none">${GHOST}</text></svg>`],
  ])('is without what is hidden by %s, which is counted', async (_, markup) => {
    const { text, hidden, isWhole } = await readPage(markup);
    expect([text, hidden, isWhole]).toEqual([SEEN, GHOST.length, false]);
  });

  it.each([
    ['a template', `<template><p>${GHOST}</p></template>`],
    ['what stands in for frames', `<noframes>${GHOST}</noframes>`],
    ['suggestions', `<datalist><option>${GHOST}</option></datalist>`],
    ['definitions of a drawing', `<svg><defs><text>${GHOST}</text></defs><title>${GHOST}</title></svg>`],
  ])('is without %s', async (_, markup) => {
    expect((await readPage(markup)).text).toBe(SEEN);
  });

  it.each([
    ['a popover with a button', `<button popovertarget="a">More</button><div popover id="a">${GHOST}</div>`],
    ['a shadow root', `<x-note><template shadowrootmode="open"><p>${GHOST}</p></template></x-note>`],
    ['text in a drawing', `<svg><foreignObject><p>${GHOST}</p></foreignObject></svg>`],
    ['a drawing without fill of its own', `<svg fill="none"><text fill="black">${GHOST}</text></svg>`],
    ['letters cut out of a picture', `<p style="color:transparent;background-clip:text">${GHOST}</p>`],
  ])('keeps what a reader sees in %s', async (_, markup) => {
    const { text, hidden, isWhole } = await readPage(markup);
    expect(text).toContain(GHOST);
    expect([hidden, isWhole]).toEqual([0, true]);
  });

  it('keeps the labels of a drawing beside its main part', async () => {
    const chart =
      '<svg viewBox="0 0 9 9"><g><path d="M0 0"/><text>2007</text><text><tspan>34</tspan><tspan>%</tspan></text></g><a href="/x"><text>Ships</text></a></svg>';
    const { text, mainLength } = await readPage(`${chart}<p>After it the text goes on.</p>`);
    expect(text.slice(mainLength).trim()).toBe('Image: 2007 · 34 % · Ships');
    expect(text.slice(0, mainLength)).toContain('After it the text goes on.');
  });

  it('is not whole where a frame shows a page of its own', async () => {
    expect((await readPage(`<iframe srcdoc="&lt;p&gt;${GHOST}"></iframe>`)).isWhole).toBe(false);
    expect((await readPage('<iframe src="/video"></iframe>')).isWhole).toBe(true);
  });

  it('says what was crossed out', async () => {
    const { text } = await readPage('<p>It costs <del>99</del> <s> 89 </s> <ins>79</ins> euros.</p>');
    expect(text).toContain('It costs ~~99~~ ~~89~~ 79 euros.');
    expect((await readPage('<del><p>An old part.</p></del>')).text).toContain('\n\nAn old part.');
  });

  it.each([
    ['signs of direction', '\u202e6691\u202c'],
    ['an element', '<bdo dir="rtl">6691</bdo>'],
    ['a style', '<span style="direction:rtl; unicode-bidi:bidi-override">6691</span>'],
  ])('has what %s turn round as it is shown', async (_, year) => {
    const { text } = await readPage(`<p>The bridge is of ${year}, the gate of 1987.</p>`);
    expect(text).toContain('The bridge is of 1966, the gate of 1987.');
  });
});

describe('any text', () => {
  const smuggled = [...GHOST].map((sign) => String.fromCodePoint(0xe0000 + sign.codePointAt(0)!)).join('');
  const varied = [...GHOST].map((sign) => String.fromCodePoint(0xe0100 + sign.codePointAt(0)! - 16)).join('');

  it.each([
    ['a page', 'text/html', (text: string) => `<main><h1>Gates</h1><p>${text}</p></main>`],
    ['a plain text', 'text/plain', (text: string) => text],
    ['values', 'text/csv', (text: string) => `Gate,Note\nSea,${text}`],
  ])('in %s is without signs that no font shows', async (_, type, write) => {
    const text = `The gate\u200b of\u2066 1966${smuggled} is\u0007 of steel${varied}.`;
    const read = await extract({
      bytes: Buffer.from(write(text)),
      type,
      charset: 'utf-8',
      name: `${smuggled}note`,
    });
    expect(read.text).toContain('The gate of 1966 is of steel.');
    expect(read.text).not.toMatch(/[\u{E0000}-\u{E01EF}]|\u2066/u);
    expect(read.text).not.toContain('\u0007');
    expect([read.hidden, read.isWhole]).toEqual([2 * GHOST.length, true]);
    expect(read.title).not.toContain(smuggled);
    // Blocks and the main part still stand where they say.
    const last = read.blocks.at(-1)!;
    expect(read.text.slice(last.start, last.end)).toContain('of steel.');
    expect(read.mainLength).toBe(read.text.length);
  });

  it('keeps the signs that join letters and emoji', async () => {
    const { text } = await readPage('<p>می\u200cخواهم 👨\u200d👩\u200d👧 ❤\ufe0f</p>');
    expect(text).toContain('می\u200cخواهم 👨\u200d👩\u200d👧 ❤\ufe0f');
  });
});

describe('a Word document', () => {
  const word = 'http://schemas.openxmlformats.org/wordprocessingml/2006/main';
  const run = (properties: string, text: string) =>
    `</w:t></w:r></w:p><w:p><w:r><w:rPr>${properties}</w:rPr><w:t>${text}</w:t></w:r></w:p><w:p><w:r><w:t>`;
  const styles = {
    'word/styles.xml': `<w:styles xmlns:w="${word}"><w:style w:styleId="Base"><w:rPr><w:vanish/></w:rPr></w:style><w:style w:styleId="Ghost"><w:basedOn w:val="Base"/></w:style></w:styles>`,
  };

  it.each([
    ['a property', run('<w:vanish/>', GHOST)],
    ['a style', run('<w:rStyle w:val="Ghost"/>', GHOST)],
    ['white on white', run('<w:color w:val="FFFFFF"/>', GHOST)],
    ['its size', run('<w:sz w:val="2"/>', GHOST)],
  ])('is without what is hidden by %s, which is counted', async (_, markup) => {
    const { text, hidden, isWhole } = await readFile('a.docx', docxOf(`${SEEN}${markup}`, { more: styles }));
    expect([text, hidden, isWhole]).toEqual([SEEN, GHOST.length, false]);
  });

  it.each([
    ['that a property brings back', run('<w:rStyle w:val="Ghost"/><w:vanish w:val="0"/>', GHOST)],
    ['in white on a colour', run('<w:color w:val="FFFFFF"/><w:shd w:fill="002060"/>', GHOST)],
  ])('keeps text %s', async (_, markup) => {
    const { text, hidden, isWhole } = await readFile('a.docx', docxOf(`${SEEN}${markup}`, { more: styles }));
    expect(text).toBe(`${SEEN}\n\n${GHOST}`);
    expect([hidden, isWhole]).toEqual([0, true]);
  });

  it('is read with its formulas, and with what stands above and below its pages', async () => {
    const formula =
      '</w:t></w:r><m:oMath xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"><m:r><m:t>E=42 &lt; x</m:t></m:r></m:oMath><w:r><w:t>';
    const more = {
      'word/header1.xml': `<w:hdr xmlns:w="${word}"><w:p><w:r><w:t>Report &amp; notes of 1999</w:t></w:r></w:p></w:hdr>`,
    };
    const { text, mainLength } = await readFile('a.docx', docxOf(`${SEEN} ${formula}`, { more }));
    expect(text.slice(0, mainLength)).toContain('E=42 < x');
    expect(text.slice(mainLength).trim()).toBe('Report & notes of 1999');
  });

  it('is not whole where it has a diagram', async () => {
    const more = { 'word/diagrams/data1.xml': '<dgm:dataModel/>' };
    expect((await readFile('a.docx', docxOf(SEEN, { more }))).isWhole).toBe(false);
  });
});

describe('a workbook', () => {
  const cell = (place: string, text: string, more = '') =>
    `<c r="${place}" ${more} t="inlineStr"><is><t>${text}</t></is></c>`;
  const workbook = (sheet: string, more: Record<string, string> = {}) =>
    zipOf({
      'xl/workbook.xml':
        '<workbook><sheets><sheet name="Old" state="veryHidden" r:id="r2"/><sheet name="Fees" r:id="r1"/></sheets></workbook>',
      'xl/_rels/workbook.xml.rels':
        '<Relationships><Relationship Id="r1" Target="worksheets/sheet1.xml"/><Relationship Id="r2" Target="worksheets/sheet2.xml"/></Relationships>',
      'xl/worksheets/sheet1.xml': `<worksheet>${sheet}</worksheet>`,
      ...more,
    });
  const head = `<row r="1">${cell('A1', 'Boat')}${cell('B1', 'Fee')}</row>`;
  const seen = '## Fees\n\n| Boat | Fee |\n| --- | --- |\n| Long | 8 |';
  const body = (more: string, at = 3) =>
    `${more}<row r="${at}">${cell(`A${at}`, 'Long')}${cell(`B${at}`, '8')}</row>`;

  it.each([
    ['rows', `<sheetData>${head}${body(`<row r="2" hidden="1">${cell('A2', GHOST)}</row>`)}</sheetData>`, {}],
    [
      'rows of no height',
      `<sheetData>${head}${body(`<row r="2" ht="0" customHeight="1">${cell('A2', GHOST)}</row>`)}</sheetData>`,
      {},
    ],
    [
      'columns',
      `<cols><col min="3" max="9" hidden="1"/></cols><sheetData>${head}${body('')}<row r="4">${cell('D4', GHOST)}</row></sheetData>`,
      {},
    ],
    [
      'sheets',
      `<sheetData>${head}${body('')}</sheetData>`,
      {
        'xl/worksheets/sheet2.xml': `<worksheet><sheetData><row>${cell('A1', GHOST)}</row></sheetData></worksheet>`,
      },
    ],
  ])('is without hidden %s, which are counted', async (_, sheet, more) => {
    const { text, hidden, isWhole } = await readFile('a.xlsx', workbook(sheet, more));
    expect(text.replaceAll('|  ', '')).toBe(seen.replaceAll('|  ', ''));
    expect([hidden, isWhole]).toEqual([GHOST.length, false]);
  });

  it('is read in little time where many stretches of columns are hidden', async () => {
    const folded = '<col min="3" max="9" hidden="1"/>'.repeat(60_000);
    const cells = `<row>${cell('A9', 'Long')}${cell('B9', '8')}</row>`.repeat(30_000);
    const { text, hidden } = await readFile(
      'a.xlsx',
      workbook(`<cols>${folded}</cols><sheetData>${cells}<row>${cell('I9', GHOST)}</row></sheetData>`),
    );
    expect(text).toContain('| Long | 8 |');
    expect(hidden).toBe(GHOST.length);
  });

  it('is refused with more columns than a table may have, also where cells do not tell theirs', async () => {
    const cells = '<c><v>1</v></c>'.repeat(1002);
    await expect(readFile('a.xlsx', workbook(`<sheetData><row>${cells}</row></sheetData>`))).rejects.toThrow(
      'has more than 1000 columns',
    );
  });

  it('is without numbers that their format hides', async () => {
    const styles =
      '<styleSheet><numFmts><numFmt numFmtId="164" formatCode=";;;"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="164"/></cellXfs></styleSheet>';
    const sheet = `<sheetData>${head}${body('<row r="2"><c r="B2" s="1"><v>2007</v></c></row>')}</sheetData>`;
    const { text, hidden } = await readFile('a.xlsx', workbook(sheet, { 'xl/styles.xml': styles }));
    expect([text, hidden]).toEqual([seen, 4]);
  });

  it('keeps rows that a group or a filter folds away', async () => {
    const group = body(`<row r="2" hidden="1" outlineLevel="1">${cell('A2', 'Short')}</row>`);
    const filter = body(`<row r="2" hidden="1">${cell('A2', 'Short')}</row>`);
    for (const sheet of [
      `<sheetData>${head}${group}</sheetData>`,
      `<sheetData>${head}${filter}</sheetData><autoFilter ref="A1:B3"/>`,
    ]) {
      const { text, hidden, isWhole } = await readFile('a.xlsx', workbook(sheet));
      expect(text).toContain('| Short |');
      expect([hidden, isWhole]).toEqual([0, true]);
    }
  });

  it('is read with the labels of its charts and boxes', async () => {
    const more = {
      'xl/drawings/drawing1.xml':
        '<xdr:wsDr><a:p><a:r><a:t>Closed </a:t></a:r><a:r><a:t>since 2007</a:t></a:r></a:p></xdr:wsDr>',
    };
    const { text, mainLength } = await readFile(
      'a.xlsx',
      workbook(`<sheetData>${head}${body('')}</sheetData>`, more),
    );
    expect(text.slice(0, mainLength)).toBe(seen);
    expect(text.slice(mainLength).trim()).toBe('Closed since 2007');
  });
});

describe('an OpenDocument', () => {
  const file = (kind: string, body: string, more: Record<string, string> = {}) =>
    zipOf({
      mimetype: `application/vnd.oasis.opendocument.${kind}`,
      'content.xml': `<office:document-content><office:automatic-styles><style:style style:name="H"><style:text-properties text:display="none"/></style:style><style:style style:name="W"><style:text-properties fo:color="#ffffff"/></style:style><style:style style:name="T"><style:table-properties table:display="false"/></style:style></office:automatic-styles><office:body>${body}</office:body></office:document-content>`,
      ...more,
    });

  it.each([
    ['a style', `<text:p text:style-name="H">${GHOST}</text:p>`],
    ['white on white', `<text:p><text:span text:style-name="W">${GHOST}</text:span></text:p>`],
    ['its section', `<text:section text:display="none"><text:p>${GHOST}</text:p></text:section>`],
    ['a field', `<text:p><text:hidden-text>${GHOST}</text:hidden-text></text:p>`],
    ['its paragraph', `<text:p><text:hidden-paragraph text:is-hidden="true"/>${GHOST}</text:p>`],
  ])('is without what is hidden by %s, which is counted', async (_, markup) => {
    const odt = file('text', `<office:text><text:p>${SEEN}</text:p>${markup}</office:text>`);
    const { text, hidden, isWhole } = await readFile('a.odt', odt);
    expect([text, hidden, isWhole]).toEqual([SEEN, GHOST.length, false]);
  });

  it('is read with what stands above and below its pages', async () => {
    const styles =
      '<office:document-styles><style:master-page><style:header><text:p>Notes of 1999</text:p></style:header></style:master-page></office:document-styles>';
    const odt = file('text', `<office:text><text:p>${SEEN}</text:p></office:text>`, { 'styles.xml': styles });
    expect((await readFile('a.odt', odt)).text).toBe(`${SEEN}\n\nNotes of 1999`);
  });

  const row = (text: string, more = '') =>
    `<table:table-row ${more}><table:table-cell><text:p>${text}</text:p></table:table-cell></table:table-row>`;

  it.each([
    [
      'rows',
      `<table:table table:name="A">${row('Boat')}${row(GHOST, 'table:visibility="collapse"')}</table:table>`,
    ],
    [
      'sheets',
      `<table:table table:name="A">${row('Boat')}</table:table><table:table table:style-name="T">${row(GHOST)}</table:table>`,
    ],
    [
      'columns',
      `<table:table table:name="A"><table:table-column/><table:table-column table:visibility="collapse"/><table:table-row><table:table-cell><text:p>Boat</text:p></table:table-cell><table:table-cell><text:p>${GHOST}</text:p></table:table-cell></table:table-row></table:table>`,
    ],
  ])('of sheets is without hidden %s, which are counted', async (_, tables) => {
    const ods = file('spreadsheet', `<office:spreadsheet>${tables}</office:spreadsheet>`);
    const { text, hidden, isWhole } = await readFile('a.ods', ods);
    expect([text, hidden, isWhole]).toEqual(['## A\n\n| Boat |\n| --- |', GHOST.length, false]);
  });

  it('of sheets is without the notes of its cells', async () => {
    const note = `<office:annotation><text:p>${GHOST}</text:p></office:annotation>`;
    const ods = file(
      'spreadsheet',
      `<office:spreadsheet><table:table table:name="A"><table:table-row><table:table-cell>${note}<text:p>Boat</text:p></table:table-cell></table:table-row></table:table></office:spreadsheet>`,
    );
    expect((await readFile('a.ods', ods)).text).toBe('## A\n\n| Boat |\n| --- |');
  });
});
