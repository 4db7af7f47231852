import { docxOf, pdfOf, pdfPlacing, pdfTurned, zipOf } from '@trunkline/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { ExtractionPool } from './extraction-pool.ts';
import { extract } from './read.ts';

const pool = new ExtractionPool({ threads: 1 });
afterAll(() => pool.stop());
const raw = (text: string, type = 'text/html') => ({ bytes: Buffer.from(text), type, name: 'page' });
const long = 'Harbour seals rest on sandbanks at low tide and hunt for flatfish when the water comes back.';

describe('extraction', () => {
  it('takes the main content as Markdown, without menus, links and reference marks', async () => {
    const html = `<html><head><title> Seals </title><meta property="article:published_time" content="2024-03-01"></head><body><nav>Menu</nav>
      <article><h2>Rest</h2><p>${long} See <a href="/x">more</a><sup class="reference">[1]</sup>.</p><ul><li>one</li></ul><script>bad()</script></article></body></html>`;
    const { title, text: all, mainLength, published } = await extract(raw(html));
    const text = all.slice(0, mainLength);
    expect(title).toBe('Seals');
    expect(all.slice(mainLength).trim()).toBe('Menu');
    expect(text).toContain('## Rest');
    expect(text).toContain('See more.');
    expect(text).not.toMatch(/Menu|bad|\/x|\[1\]/);
    expect(published).toBe('2024-03-01T00:00:00.000Z');
  });

  it('finds the article of a page that marks none', async () => {
    const html = `<html><body><div class="menu"><a href="/a">A</a> <a href="/b">B</a></div><div class="post">${`<p>${long}</p>`.repeat(6)}</div></body></html>`;
    expect((await extract(raw(html))).text).toContain('Harbour seals');
  });

  it('reads PDF, Word and plain text', async () => {
    const pdf = await extract({
      bytes: pdfOf('First page here.', 'Second page here.'),
      type: 'application/pdf',
      name: 'a.pdf',
    });
    expect(pdf.text).toBe('First page here.\n\nSecond page here.');
    const word = await extract({
      bytes: docxOf('A letter.'),
      type: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
      name: 'b.docx',
    });
    expect(word.text).toBe('A letter.');
    expect((await extract(raw('# Title\n\nBody.', 'text/markdown'))).title).toBe('Title');
  });

  it.each([
    ['video/mp4', 'x', 'not text'],
    ['text/html', '<body></body>', 'without text'],
    ['application/pdf', '%PDF-1.7 nothing', 'cannot be read'],
  ])('names what is wrong with %s', async (type, text, words) => {
    await expect(extract({ bytes: Buffer.from(text), type, name: 'x' })).rejects.toThrow(words);
  });
});

describe('the extraction threads', () => {
  it('leave the event loop free while they work', async () => {
    const heavy = `<body>${`<div><p>${long}</p></div>`.repeat(4000)}</body>`;
    let ticks = 0;
    const timer = setInterval(() => (ticks += 1), 1);
    await pool.extract(raw(heavy));
    clearInterval(timer);
    expect(ticks).toBeGreaterThan(5);
  });

  it('may be started before there is work, and end without any', async () => {
    const warmed = new ExtractionPool({ threads: 1 });
    warmed.warm();
    const page = raw('Words that a waiting thread reads.', 'text/plain');
    expect((await warmed.extract(page)).text).toContain('a waiting thread');
    await warmed.stop();
    const idle = new ExtractionPool({ threads: 2 });
    idle.warm();
    await idle.stop();
    idle.warm();
    await expect(idle.extract(page)).rejects.toThrow('service stops');
  });

  it('give failures in words and go on', async () => {
    await expect(pool.extract(raw('x', 'video/mp4'))).rejects.toThrow('not text');
    expect((await pool.extract(raw('Words.', 'text/plain'))).text).toBe('Words.');
  });

  it('end a text that takes too long, and serve the next', async () => {
    const hasty = new ExtractionPool({ threads: 1, timeoutMs: 40 });
    await expect(
      hasty.extract(raw(`<body>${`<div><p>${long}</p></div>`.repeat(30_000)}</body>`)),
    ).rejects.toThrow('takes longer than 40 ms');
    await hasty.stop();
    await expect(hasty.extract(raw('x'))).rejects.toThrow('stops');
  });

  it('refuse more than their queue holds', async () => {
    const small = new ExtractionPool({ threads: 1, queue: 1 });
    const works = [1, 2, 3].map(() => small.extract(raw('Words.', 'text/plain')));
    const results = await Promise.allSettled(works);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
    await small.stop();
  });
});

describe('charsets', () => {
  const html = (label: string) => `<html><head><meta charset="${label}"></head><body><p>`;
  const sjis = [0x8a, 0x43, 0x82, 0xcc, 0x90, 0x85, 0x82, 0xcd, 0x92, 0xaa, 0x82, 0xa2, 0x81, 0x42]; // 海の水は長い。
  it.each([
    ['a byte order mark', Buffer.from('\ufeff<p>Größe', 'utf16le'), undefined, 'Größe'],
    ['big-endian UTF-16', Buffer.from('\ufeff<p>Größe', 'utf16le').swap16(), undefined, 'Größe'],
    ['UTF-16 without a mark', Buffer.from('<html><p>Größe und Maß der Boote', 'utf16le'), undefined, 'Größe'],
    ['UTF-8 with its mark', Buffer.from('\ufeff<p>Größe'), 'windows-1252', 'Größe'],
    ['the header', Buffer.from([0x3c, 0x70, 0x3e, 0xcf, 0xf7, 0xe5]), 'windows-1251', 'Пче'],
    [
      'the page',
      Buffer.concat([Buffer.from(html('big5')), Buffer.from([0xae, 0xfc, 0xa4, 0xf4])]),
      undefined,
      '海水',
    ],
    [
      'GBK',
      Buffer.concat([Buffer.from(html('gbk')), Buffer.from([0xba, 0xa3, 0xcb, 0xae])]),
      undefined,
      '海水',
    ],
    [
      'EUC-KR',
      Buffer.concat([Buffer.from(html('euc-kr')), Buffer.from([0xb9, 0xd9, 0xb4, 0xd9])]),
      undefined,
      '바다',
    ],
    ['Latin-2', Buffer.from([0x3c, 0x70, 0x3e, 0xb3, 0xf3, 0x64, 0xbc]), 'iso-8859-2', 'łódź'],
    ['nothing, Latin', Buffer.from('<p>Les marées préfèrent la lune', 'latin1'), undefined, 'préfèrent'],
    [
      'nothing, Shift_JIS',
      Buffer.concat([Buffer.from('<p>'), Buffer.from([...sjis, ...sjis])]),
      undefined,
      '海の水',
    ],
    ['a charset nobody knows', Buffer.from('<p>Größe'), 'x-unknown', 'Größe'],
  ])('by %s', async (_, bytes, charset, words) => {
    expect((await extract({ bytes, type: 'text/html', charset, name: 'x' })).text).toContain(words);
  });
});

describe('PDF', () => {
  const pdf = async (bytes: Uint8Array) =>
    (await extract({ bytes, type: 'application/pdf', name: 'x.pdf' })).text;

  it('reads columns one after the other and joins lines to paragraphs', async () => {
    const left = [
      'The tide comes in twice',
      'a day and lifts the boats',
      'by more than five me-',
      'tres at the old quay.',
    ];
    const right = [
      'Pilots board the ships',
      'east of the lightship and',
      'leave them in the lock',
      'when the gates are shut.',
    ];
    const text = await pdf(
      pdfPlacing(
        [50, 750, 'A page in two columns'],
        ...left.map((line, at) => [50, 700 - at * 12, line] as [number, number, string]),
        ...right.map((line, at) => [320, 700 - at * 12, line] as [number, number, string]),
      ),
    );
    expect(text).toBe(
      'A page in two columns\n\nThe tide comes in twice a day and lifts the boats by more than five metres at the old quay.\n\nPilots board the ships east of the lightship and leave them in the lock when the gates are shut.',
    );
  });

  it.each([
    ['shown turned', 90],
    ['not turned back', 0],
  ])('reads a page that is drawn on its side and %s', async (_, rotate) => {
    expect(await pdf(pdfTurned('The lock lies across the sheet.', rotate))).toBe(
      'The lock lies across the sheet.',
    );
  });

  it('leaves out what is off the page or too small', async () => {
    const bytes = pdfPlacing(
      [50, 700, 'On the page.'],
      [5000, 700, 'Not on it.'],
      [50, 600, 'Ignore all of it.', 0.5],
    );
    const { text, hidden } = await extract({ bytes, type: 'application/pdf', name: 'x.pdf' });
    expect([text, hidden]).toEqual(['On the page.', 17]);
  });

  it('reads tables row by row', async () => {
    const rows = [
      ['Station', '2023', '2024'],
      ['Calder', '76.0', '80.2'],
      ['Oxna', '9.6', '11.5'],
    ];
    const text = await pdf(
      pdfPlacing(
        ...rows.flatMap((row, at) =>
          row.map((cell, column) => [50 + column * 120, 700 - at * 14, cell] as [number, number, string]),
        ),
      ),
    );
    expect(text).toContain(
      '| Station | 2023 | 2024 |\n| --- | --- | --- |\n| Calder | 76.0 | 80.2 |\n| Oxna | 9.6 | 11.5 |',
    );
  });
});

describe('office files', () => {
  const read = async (name: string, bytes: Uint8Array) => await extract({ bytes, type: '', name });

  it('reads a Word document with its tables and notes', async () => {
    const {
      Document,
      FootnoteReferenceRun,
      HeadingLevel,
      Packer,
      Paragraph,
      Table,
      TableCell,
      TableRow,
      TextRun,
    } = await import('docx');
    const cell = (text: string) => new TableCell({ children: [new Paragraph(text)] });
    const document = new Document({
      footnotes: { 1: { children: [new Paragraph('Measured in 1987.')] } },
      sections: [
        {
          children: [
            new Paragraph({ text: 'Locks', heading: HeadingLevel.HEADING_1 }),
            new Paragraph({ children: [new TextRun('The lock is deep.'), new FootnoteReferenceRun(1)] }),
            new Table({
              rows: [
                new TableRow({ children: [cell('Gate'), cell('Width')] }),
                new TableRow({ children: [cell('Sea'), cell('24 m')] }),
              ],
            }),
          ],
        },
      ],
    });
    const { title, text } = await read('locks.docx', await Packer.toBuffer(document));
    expect(title).toBe('Locks');
    expect(text).toContain('The lock is deep.');
    expect(text).toContain('| Gate | Width |\n| --- | --- |\n| Sea | 24 m |');
    expect(text).toContain('Measured in 1987.');
  });

  it('reads OpenDocument texts and sheets', async () => {
    const odt = zipOf({
      mimetype: 'application/vnd.oasis.opendocument.text',
      'content.xml':
        '<office:document-content><office:body><office:text><text:h text:outline-level="1">Buoys</text:h><text:p>Green to starboard<text:note><text:note-body><text:p>In region A.</text:p></text:note-body></text:note>.</text:p><text:list><text:list-item><text:p>cardinal</text:p></text:list-item></text:list><table:table><table:table-row><table:table-cell><text:p>Light</text:p></table:table-cell><table:table-cell><text:p>Q(9)</text:p></table:table-cell></table:table-row></table:table></office:text></office:body></office:document-content>',
    });
    const text = await read('buoys', odt);
    expect(text).toMatchObject({ title: 'Buoys', isWhole: true });
    expect(text.text).toBe(
      '# Buoys\n\nGreen to starboard.\n\n- cardinal\n\n| Light | Q(9) |\n| --- | --- |\n\n- In region A.',
    );
    const ods = zipOf({
      mimetype: 'application/vnd.oasis.opendocument.spreadsheet',
      'content.xml':
        '<office:document-content><office:body><office:spreadsheet><table:table table:name="Fees"><table:table-row><table:table-cell><text:p>Length</text:p></table:table-cell><table:table-cell><text:p>Fee</text:p></table:table-cell></table:table-row><table:table-row><table:table-cell table:number-columns-repeated="2"><text:p>8</text:p></table:table-cell><table:table-cell table:number-columns-repeated="16000"/></table:table-row></table:table></office:spreadsheet></office:body></office:document-content>',
    });
    expect((await read('fees.ods', ods)).text).toBe('## Fees\n\n| Length | Fee |\n| --- | --- |\n| 8 | 8 |');
  });

  it('reads workbooks with dates, shares and shared strings', async () => {
    const xlsx = zipOf({
      'xl/workbook.xml':
        '<workbook><sheets><sheet name="Tides" r:id="r1"/><sheet name="Secret" state="hidden" r:id="r1"/></sheets></workbook>',
      'xl/_rels/workbook.xml.rels':
        '<Relationships><Relationship Id="r1" Target="worksheets/sheet1.xml"/></Relationships>',
      'xl/sharedStrings.xml': '<sst><si><t>Day</t></si><si><r><t>Le</t></r><r><t>vel</t></r></si></sst>',
      'xl/styles.xml':
        '<styleSheet><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="10"/></cellXfs></styleSheet>',
      'xl/worksheets/sheet1.xml':
        '<worksheet><sheetData><row><c r="A1" t="s"><v>0</v></c><c r="C1" t="s"><v>1</v></c></row><row><c r="A2" s="1"><v>45292</v></c><c r="B2" s="2"><v>0.125</v></c><c r="C2"><v>5.8</v></c></row></sheetData></worksheet>',
    });
    expect((await read('tides.xlsx', xlsx)).text).toBe(
      '## Tides\n\n| Day |  | Level |\n| --- | --- | --- |\n| 2024-01-01 | 12.5% | 5.8 |',
    );
  });

  it('reads lengths of time, days counted from 1904, and names with a prefix', async () => {
    const xlsx = zipOf({
      'xl/workbook.xml':
        '<x:workbook><x:workbookPr date1904="1"/><x:sheets><x:sheet name="Shifts" rel:id="r1"/></x:sheets></x:workbook>',
      'xl/_rels/workbook.xml.rels':
        '<Relationships><Relationship Id="r1" Target="worksheets/sheet1.xml"/></Relationships>',
      'xl/sharedStrings.xml': '<x:sst><x:si><x:t>Day</x:t></x:si></x:sst>',
      'xl/styles.xml':
        '<x:styleSheet><x:numFmts><x:numFmt numFmtId="164" formatCode="[h]:mm:ss"/><x:numFmt numFmtId="165" formatCode="hh:mm"/></x:numFmts><x:cellXfs><x:xf numFmtId="14"/><x:xf numFmtId="164"/><x:xf numFmtId="46"/><x:xf numFmtId="165"/></x:cellXfs></x:styleSheet>',
      'xl/worksheets/sheet1.xml':
        '<x:worksheet><x:sheetData><x:row><x:c r="A1" t="s"><x:v>0</x:v></x:c></x:row><x:row><x:c r="A2" s="0"><x:v>43830</x:v></x:c><x:c r="B2" s="1"><x:v>1.5625</x:v></x:c><x:c r="C2" s="2"><x:v>0.25</x:v></x:c><x:c r="D2" s="3"><x:v>0.25</x:v></x:c><x:c r="E2" s="1"><x:v>1e300</x:v></x:c></x:row></x:sheetData></x:worksheet>',
    });
    // 43,830 days after the first of January 1904, as spreadsheets show it.
    expect((await read('shifts.xlsx', xlsx)).text).toBe(
      '## Shifts\n\n| Day |  |  |  |  |\n| --- | --- | --- | --- | --- |\n| 2024-01-01 | 37:30:00 | 6:00:00 | 06:00 | 1e+300 |',
    );
  });

  it.each([
    ['application/octet-stream', 'https://a.example/get?file=1', 'https://a.example/data.csv?v=2'],
    ['text/plain', 'Tide data', 'https://a.example/data.csv'],
  ])('takes values sent as %s for what their address says', async (type, name, address) => {
    const { text } = await extract({ bytes: Buffer.from('day,level\n1,5.8'), type, name, address });
    expect(text).toBe('| day | level |\n| --- | --- |\n| 1 | 5.8 |');
  });

  it.each(['application/pdf', 'application/octet-stream', ''])(
    'takes a page that comes as "%s" for a page',
    async (type) => {
      const html = `<!doctype html><html><body><p>${long}</p></body></html>`;
      const raw = { bytes: Buffer.from(html), type, name: 'a', address: 'https://a.example/a.pdf' };
      expect((await extract(raw)).text).toBe(long);
    },
  );

  it('reads books in the order of their spine', async () => {
    const chapter = (title: string) => `<html><body><h1>${title}</h1><p>${long}</p></body></html>`;
    const book = zipOf({
      mimetype: 'application/epub+zip',
      'META-INF/container.xml':
        '<container><rootfiles><rootfile full-path="OPS/book.opf"/></rootfiles></container>',
      'OPS/book.opf':
        '<package><metadata><dc:title>The Seals</dc:title><dc:language>en</dc:language></metadata><manifest><item id="b" href="b.xhtml"/><item id="a" href="text/a.xhtml"/></manifest><spine><itemref idref="a"/><itemref idref="b"/></spine></package>',
      'OPS/text/a.xhtml': chapter('First'),
      'OPS/b.xhtml': chapter('Second'),
    });
    const { title, language, text } = await read('seals.epub', book);
    expect([title, language]).toEqual(['The Seals', 'en']);
    expect(text).toMatch(/^# First[\s\S]*# Second/);
  });

  it('reads values as tables, whatever separates them', async () => {
    const values = await extract(raw('name;"depth; in m"\r\n"Old ""Quay""";4,5\r\n', 'text/csv'));
    expect(values.text).toBe('| name | depth; in m |\n| --- | --- |\n| Old "Quay" | 4,5 |');
    const tabs = await extract({ ...raw('a\tb\n1\t2', 'text/plain'), name: 'list.tsv' });
    expect(tabs.text).toBe('| a | b |\n| --- | --- |\n| 1 | 2 |');
  });

  it.each(['x.odt', 'x.epub', 'x.xlsx', 'x.ods'])('says that %s is broken, and what to do', async (name) => {
    await expect(read(name, Buffer.from('PK\x03\x04 no archive'))).rejects.toThrow(
      `save it again as ${name.slice(1)}`,
    );
  });
});

describe('tables of values', () => {
  it('keep all their columns and rows', async () => {
    const wide = Array.from({ length: 100 }, (_, at) => `c${at}`).join(',');
    expect((await extract(raw(`${wide}\n${wide}`, 'text/csv'))).text).toContain('| c99 |');
    const long = await extract(raw('tide,3\n'.repeat(150_000), 'text/csv'));
    expect(long.text.match(/tide/g)?.length).toBeGreaterThanOrEqual(150_000);
  });

  it('are split by what separates most lines, whatever stands above them', async () => {
    const german = 'Report 2024, all prices\nRegion;Price\nNorth;1,5\nSouth;2,25\nEast;3,75\n';
    expect((await extract(raw(german, 'text/csv'))).text).toContain('| North | 1,5 |');
  });

  it('are cut in words where one string fills many cells', async () => {
    const rows = `<row>${'<c t="s"><v>0</v></c>'.repeat(300)}</row>`;
    const bytes = zipOf({
      'xl/workbook.xml': '<workbook><sheets><sheet name="A" r:id="r1"/></sheets></workbook>',
      'xl/_rels/workbook.xml.rels': '<Relationships><Relationship Id="r1" Target="s.xml"/></Relationships>',
      'xl/sharedStrings.xml': `<sst><si><t>${'x'.repeat(100_000)}</t></si></sst>`,
      'xl/s.xml': `<worksheet><sheetData>${rows}</sheetData></worksheet>`,
    });
    const { text, isWhole } = await extract({ bytes, type: '', name: 'a.xlsx' });
    expect(text.length).toBe(20_000_000);
    expect(isWhole).toBe(false);
  });
});

it('a text that speaks of another charset stays in its own', async () => {
  const text = 'Write `<meta charset="shift_jis">` for Größe.';
  expect((await extract(raw(text, 'text/markdown'))).text).toContain('Größe');
});

it('a page that was cut is not whole', async () => {
  const pdf = { bytes: pdfOf('First page here.'), type: 'application/pdf', name: 'a.pdf' };
  expect((await extract(pdf)).isWhole).toBe(true);
  expect((await extract({ ...pdf, isCut: true })).isWhole).toBe(false);
  expect((await extract(raw(`<p>${long}<p style="opacity:0">It fades in.`))).isWhole).toBe(false);
  expect((await extract(raw(`<p>${long}`))).isWhole).toBe(true);
  expect((await extract({ ...raw(`<p>${long}`), isCut: true })).isWhole).toBe(false);
});
