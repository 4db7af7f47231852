import { docxOf, epubOf, odsOf, odtOf, pdfOf, xlsxOf } from '@trunkline/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Claim, JobSource } from './api-types.ts';
import { corpus, type Lab, startLab } from './fixtures/lab.ts';

let lab: Lab;
const pages = corpus.length;

beforeAll(async () => {
  lab = await startLab();
});
afterEach(() => {
  corpus.splice(pages);
  lab.reset();
});
afterAll(() => lab.stop());

const TITLE = 'Harbour moles of Torvaig and Kyleska';
const FACT = 'The mole of Torvaig was built in 1871 and is 412 metres long';
const FALSE = 'The mole of Torvaig was built in 1899 and is 412 metres long';
const PROSE = `${FACT}. The mole of Kyleska is made of granite.`;
const ROWS = [
  ['Mole', 'Built', 'Length m'],
  ['Torvaig', '1871', '412'],
  ['Kyleska', '1903', '388'],
];
const HTML = `<title>${TITLE}</title><main><h1>${TITLE}</h1><p>${PROSE}</p></main>`;
const JAPANESE = '東雲港の防波堤は1871年に建設され、長さは412メートルである。';

const OFFICE = 'application/vnd.openxmlformats-officedocument';
const OPEN = 'application/vnd.oasis.opendocument';
const values = (separator: string) => ROWS.map((row) => row.join(separator)).join('\r\n');
const utf16 = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le');

/** The name of a file, the type a server sends it with, and its bytes. */
type Format = [name: string, type: string, bytes: Uint8Array];

const prose: Format[] = [
  ['moles.docx', `${OFFICE}.wordprocessingml.document`, docxOf(PROSE)],
  ['moles.odt', `${OPEN}.text`, odtOf(TITLE, PROSE)],
  ['moles.epub', 'application/epub+zip', epubOf(TITLE, PROSE)],
  ['moles.pdf', 'application/pdf', pdfOf(PROSE)],
  ['moles.txt', 'text/plain', Buffer.from(PROSE)],
  ['little-endian.html', 'text/html', utf16(HTML)],
  ['big-endian.html', 'text/html', utf16(HTML).swap16()],
  ['no-mark.html', 'text/html', Buffer.from(HTML, 'utf16le')],
  ['by-header.html', 'text/html; charset=utf-16le', Buffer.from(HTML, 'utf16le')],
];

const tables: Format[] = [
  ['moles.xlsx', `${OFFICE}.spreadsheetml.sheet`, xlsxOf('Moles', ROWS)],
  ['moles.ods', `${OPEN}.spreadsheet`, odsOf('Moles', ROWS)],
  ['moles.csv', 'text/csv', Buffer.from(values(','))],
  ['semicolons.csv', 'text/csv', Buffer.from(values(';'))],
  ['excel.csv', 'text/csv', utf16(values('\t'))],
  ['moles.tsv', 'text/tab-separated-values', Buffer.from(values('\t'))],
];

/** Servers that do not know a format send it under these types. */
const vague: Format[] = [...prose.slice(0, 4), ...tables.slice(0, 3)].map(([name, , bytes]) => [
  name,
  'application/octet-stream',
  bytes,
]);

/** Runs a job whose report says this about the source that has the words, N being its number. */
async function report(draft: string, words: RegExp, body: Record<string, unknown> = {}) {
  lab.script.replace = (asked, request) => {
    if (asked === 'scope')
      return JSON.stringify({
        dimensions: ['Moles', 'Harbours', 'Granite'].map((name) => ({ name, queries: [TITLE] })),
      });
    if (asked !== 'section') return undefined;
    const prompt = String(request.messages[1]?.content);
    const number = prompt
      .split(/^(?=\[\d+\])/m)
      .find((passage) => /^\[\d/.test(passage) && words.test(passage));
    return draft.replaceAll('[N]', /^\[\d+\]/.exec(number ?? '')?.[0] ?? '[0]');
  };
  const id = await lab.client.startJob({ query: TITLE, ...body });
  await lab.client.events(id);
  const { status, report: written } = await lab.client.status(id);
  const { claims, sources } = (await lab.client.json(`/api/research/deep/${id}/evidence`)) as unknown as {
    claims: Claim[];
    sources: JobSource[];
  };
  expect(status).toBe('complete');
  return { written: String(written), claims, sources };
}

async function expectProseChecked(body?: Record<string, unknown>) {
  const { written, claims, sources } = await report(`${FACT} [N]. ${FALSE} [N].`, /mole of Torvaig/, body);
  expect(written).toMatch(/built in 1871 and is 412 metres long \[\d\]\./);
  expect(written).toMatch(/built in 1899 and is 412 metres long \[\d\?\]\./);
  const claim = (year: string) => claims.find(({ sentence }) => sentence.includes(year));
  expect(claim('1871')).toMatchObject({ supported: true, judge: 'rules', certain: true });
  expect(claim('1871')?.passage).toContain(FACT);
  expect(claim('1899')).toMatchObject({ supported: false, judge: 'rules', certain: true });
  return sources;
}

async function expectTableChecked(body?: Record<string, unknown>) {
  const draft =
    '| Mole | Length m |\n| --- | --- |\n| Torvaig | 412 [N] |\n| Kyleska | 999 [N] |\n\nThe mole of Torvaig has a length of 412 metres [N].';
  const { written, claims, sources } = await report(draft, /\| Torvaig \| 1871 \| 412 \|/, body);
  expect(written).toMatch(/^\| Torvaig \| 412 \[\d\] \|$/m);
  expect(written).toMatch(/^\| Kyleska \| 999 \[\d\?\] \|$/m);
  const claim = (words: string) => claims.find(({ sentence }) => sentence.includes(words));
  expect(claim('Torvaig — Length m: 412')).toMatchObject({ supported: true, judge: 'rules' });
  expect(claim('Kyleska — Length m: 999')).toMatchObject({ supported: false, judge: 'rules', certain: true });
  return sources;
}

describe('a web result', () => {
  /** Puts the file on the web, where a search for the moles finds it. */
  function serve([name, type, bytes]: Format, path = `/${name}`): void {
    corpus.push({ path, title: TITLE, text: TITLE, body: { type, bytes } });
  }
  const isRead = (path: string) => (source: JobSource) =>
    source.url.endsWith(path) && source.state === 'read' && source.problem === null;

  it.each(prose)('in %s, sent as %s, is read, cited and checked', async (...format) => {
    serve(format);
    expect((await expectProseChecked()).some(isRead(format[0]))).toBe(true);
  });

  it.each(tables)('in %s, sent as %s, is read, cited and checked by its cells', async (...format) => {
    serve(format);
    expect((await expectTableChecked()).some(isRead(format[0]))).toBe(true);
  });

  it.each(vague)('in %s, sent as %s, is known by its bytes or its address', async (...format) => {
    serve(format);
    const isTable = tables.some(([name]) => name === format[0]);
    expect((await (isTable ? expectTableChecked() : expectProseChecked())).some(isRead(format[0]))).toBe(
      true,
    );
  });

  it.each([
    ...prose.slice(0, 3).map((format) => ({ format, check: expectProseChecked })),
    ...tables.slice(0, 2).map((format) => ({ format, check: expectTableChecked })),
  ])('that is packed is known by its bytes alone: $format.0', async ({ format: [, , bytes], check }) => {
    serve(['', 'application/zip', bytes], '/download');
    expect((await check()).some(isRead('/download'))).toBe(true);
  });

  it('in UTF-16 and Japanese is read, cited and checked', async () => {
    const html = `<title>東雲港の防波堤</title><main><h1>東雲港の防波堤</h1><p>${JAPANESE}</p></main>`;
    serve(['shinonome.html', 'text/html', utf16(html)]);
    const { written, claims } = await report(
      `${JAPANESE}[N] 東雲港の防波堤は1899年に建設された。[N]`,
      /東雲港/,
    );
    expect(written).toContain('1871年に建設され');
    expect(claims.find(({ sentence }) => sentence.includes('1871'))).toMatchObject({ supported: true });
    expect(claims.find(({ sentence }) => sentence.includes('1899'))).toMatchObject({
      supported: false,
      judge: 'rules',
    });
  });

  it('that is broken is named with its reason, and the report has the rest', async () => {
    serve(['broken.odt', `${OPEN}.text`, Buffer.from('PK\x03\x04 no archive')]);
    serve(prose[0] as Format);
    const sources = await expectProseChecked();
    expect(sources.find(({ url }) => url.endsWith('broken.odt'))).toMatchObject({
      state: 'failed',
      problem: expect.stringMatching(/is cut off: its end is missing.*save it again as \.odt/),
    });
  });
});

describe('an upload', () => {
  async function upload([name, , bytes]: Format): Promise<string> {
    const form = new FormData();
    form.append('file', new File([bytes as BlobPart], name));
    const response = await fetch(`${lab.url}/api/files`, { method: 'POST', body: form });
    expect(response.status).toBe(201);
    return ((await response.json()) as { files: [{ id: string }] }).files[0].id;
  }

  it.each([
    ...prose.map((format) => [...format, expectProseChecked] as const),
    ...tables.map((format) => [...format, expectTableChecked] as const),
  ])('of %s (%s) is read, cited and checked', async (name, type, bytes, expectChecked) => {
    const id = await upload([name, type, bytes]);
    const sources = await expectChecked({ sources: ['files'] });
    expect(sources.find(({ url }) => url.endsWith(`/api/files/${id}`))).toMatchObject({ state: 'read' });
    expect((await fetch(`${lab.url}/api/files/${id}`, { method: 'DELETE' })).status).toBe(204);
  });
});
