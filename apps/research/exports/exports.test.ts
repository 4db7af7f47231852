import { existsSync } from 'node:fs';
import { chmod, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findChromium, temporaryDirectory } from '@trunkline/testing';
import mammoth from 'mammoth';
import { extractText, getDocumentProxy } from 'unpdf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Lab, startLab } from '../fixtures/lab.ts';
import { parseMarkdown } from './markdown.ts';
import { PdfPrinter } from './pdf.ts';

const QUERY = 'Tidal power: 50% & more <b>costs</b>';
const STATION = 'The station at La Rance has a capacity of 999 megawatts';
let lab: Lab;
let id: string;

beforeAll(async () => {
  lab = await startLab(undefined, (asked, request) => {
    const prompt = String(request.messages[1]?.content);
    if (asked !== 'section' || !prompt.includes('"Stations"')) return undefined;
    const given = /^\[(\d+)\]/m.exec(prompt)?.[1];
    return `${STATION} [${given}]. **Tide mills** ground grain in Europe in the Middle Ages [99]. The moon is made of <script>alert(1)</script> cheese.\n\n| Station | Capacity |\n|:--|--:|\n| La Rance | 240 megawatts [${given}] |\n| Sihwa \\| Lake | 254 megawatts [${given}] |\n\nThat is all there is to say of the stations.`;
  });
  id = await lab.client.startJob({ query: QUERY });
  await lab.client.events(id);
});
afterAll(() => lab.stop());

const exported = (format: string, job = id) =>
  fetch(`${lab.url}/api/research/deep/${job}/export?format=${format}`);

async function textOf(format: string): Promise<string> {
  const response = await exported(format);
  expect(response.status).toBe(200);
  return await response.text();
}

describe('an export', () => {
  it('has tables as they were drafted, in every format', async () => {
    const markdown = await textOf('md');
    expect(markdown).toMatch(
      /\n\n\| Station \| Capacity \|\n\|[^\n]+\|\n\| La Rance \| 240 megawatts \[\d\??\] \|\n\| Sihwa \\\| Lake \| 254 megawatts[^|]*\|\n/,
    );
    const html = await textOf('html');
    expect(html).toMatch(/<th class="left">Station<\/th><th class="right">Capacity<\/th>/);
    expect(html).toMatch(/<td class="left">La Rance<\/td><td class="right">240 megawatts <a class="cite/);
    expect(html).toMatch(/<td class="left">Sihwa \| Lake<\/td>/);
    const buffer = Buffer.from(await (await exported('docx')).arrayBuffer());
    const { value } = await mammoth.convertToHtml({ buffer });
    expect(value).toMatch(
      /<table><thead><tr><th><p><strong>Station<\/strong>.*<td><p>La Rance<\/p><\/td><td><p>240 meg/,
    );
    expect(value).toContain('Sihwa | Lake');
  });

  it('as Markdown is the report', async () => {
    const response = await exported('md');
    expect(response.headers.get('content-type')).toBe('text/markdown; charset=utf-8');
    expect(response.headers.get('content-disposition')).toBe(
      'attachment; filename="tidal-power-50-more-b-costs-b.md"',
    );
    const { report } = await lab.client.status(id);
    expect(await response.text()).toBe(report);
  });

  it('as HTML needs nothing from outside, runs nothing, and leads each citation to its passage', async () => {
    const html = await textOf('html');
    expect(html).not.toMatch(/<script|<link|<img|src=|@import|url\(/);
    expect(html).toContain('&#60;script&#62;alert(1)&#60;/script&#62;');
    const hrefs = [...html.matchAll(/class="cite[^"]*" href="#(claim-\d+)"/g)].map(([, anchor]) => anchor);
    expect(hrefs.length).toBeGreaterThan(3);
    for (const anchor of hrefs) expect(html).toContain(`<li id="${anchor}">`);
    const doubted = new RegExp(`${STATION} <a class="cite doubt" href="#(claim-\\d+)"`).exec(html);
    expect(html).toMatch(new RegExp(`<li id="${doubted?.[1]}"><p>${STATION}.*?does not bear this out`));
    expect(html).toContain('<strong>Tide mills</strong>');
  });

  it('as a Word document is read back with headings, words, links and evidence', async () => {
    const response = await exported('docx');
    const buffer = Buffer.from(await response.arrayBuffer());
    const { value: html } = await mammoth.convertToHtml({ buffer });
    const { value: text } = await mammoth.extractRawText({ buffer });
    expect(html).toContain('<h1>Stations</h1>');
    expect(html).toMatch(/<a href="#claim-\d+">\[\d\?\]<\/a>/);
    expect(html).toMatch(/<a href="http:\/\/127\.0\.0\.1:\d+\/\S+">/);
    expect(html).toContain('<strong>Tide mills</strong>');
    expect(text).toContain(STATION);
    expect(text).toContain('Evidence');
    expect(text).toMatch(/Source \d bears this out \(judged by rules\)\./);
  });

  it.skipIf(findChromium() === undefined)('as PDF is read back, and leaves nothing behind', async () => {
    const response = await exported('pdf');
    expect(response.headers.get('content-type')).toBe('application/pdf');
    const proxy = await getDocumentProxy(new Uint8Array(await response.arrayBuffer()));
    const { text } = await extractText(proxy, { mergePages: true });
    expect(text.replace(/\s+/g, ' ')).toContain(STATION);
    expect(text).toContain('Evidence');
    expect((await readdir(tmpdir())).filter((name) => name.startsWith('trunkline-pdf-'))).toEqual([]);
  });

  it('of text with signs that XML does not know is a Word document all the same', async () => {
    const odd = await lab.client.startJob({ query: 'Tidal\u0001 po\ufffewer\u001b of \u0647\u0630\u0627' });
    await lab.client.events(odd);
    const buffer = Buffer.from(await (await exported('docx', odd)).arrayBuffer());
    const { value } = await mammoth.extractRawText({ buffer });
    expect(value).toContain('Tidal power of \u0647\u0630\u0627');
  });

  it('of text with many brackets is made at once', async () => {
    const odd = await lab.client.startJob({ query: `Tidal power [${'\\['.repeat(60)}` });
    await lab.client.events(odd);
    expect(await (await exported('html', odd)).text()).toContain(`[${'['.repeat(60)}</h1>`);
  });

  it('as JSON holds every claim with the stored text that it was checked against', async () => {
    const bundle = JSON.parse(await textOf('json')) as {
      format: string;
      research: { query: string };
      sources: { id: number; text: string }[];
      claims: { sourceId: number; passage: string; passageStart: number; passageEnd: number }[];
    };
    expect(bundle).toMatchObject({ format: 'trunkline-evidence', version: 1, research: { query: QUERY } });
    const cited = bundle.claims.filter(({ passage }) => passage !== '');
    expect(cited.length).toBeGreaterThan(2);
    for (const { sourceId, passage, passageStart, passageEnd } of cited) {
      const source = bundle.sources.find((each) => each.id === sourceId);
      expect(source?.text.slice(passageStart, passageEnd)).toBe(passage);
    }
  });

  it('as BibTeX has an entry for each cited source', async () => {
    const bibtex = await textOf('bib');
    const entries = parseBibtex(bibtex);
    const report = await textOf('md');
    const listed = report.slice(report.indexOf('## Sources')).match(/^\d+\. /gm) ?? [];
    expect(entries.map(({ key }) => key)).toEqual(listed.map((_, index) => `source${index + 1}`));
    for (const { fields } of entries) {
      expect(fields.title).not.toBe('');
      expect(URL.canParse(fields.url ?? '')).toBe(true);
      expect(fields.urldate).toMatch(/^\d{4}-\d{2}-\d{2}$/);
    }
  });

  it('is refused in an unknown format, and of a job without a report', async () => {
    expect((await exported('odt')).status).toBe(400);
    expect((await exported('md', 'unknown')).status).toBe(404);
    lab.search.faults.searxng = 'cut';
    const client = lab.client;
    const failed = await client.startJob({ query: 'tidal power' });
    await client.events(failed);
    lab.search.faults.searxng = 'none';
    const refused = await exported('docx', failed);
    expect([refused.status, await refused.json()]).toEqual([
      409,
      { error: 'This research has no report yet.' },
    ]);
    expect((await exported('json', failed)).status).toBe(200);
  });
});

describe('the PDF printer', () => {
  const print = (printer: PdfPrinter) => printer.print('<p>x</p>', new AbortController().signal);

  it('says what to do where there is no Chromium', async () => {
    await expect(print(new PdfPrinter({ path: '/nowhere' }))).rejects.toMatchObject({
      status: 501,
      message: expect.stringContaining('RESEARCH_CHROMIUM'),
    });
    await expect(print(new PdfPrinter({ program: '/nowhere/chromium', path: '' }))).rejects.toMatchObject({
      status: 501,
    });
  });

  it('ends a Chromium that hangs, with its helpers', async () => {
    const directory = temporaryDirectory();
    const program = join(directory.path, 'hanging');
    const pids = join(directory.path, 'pids');
    await writeFile(program, `#!/bin/sh\nsleep 600 &\necho $! $$ > ${pids}\nwait\n`);
    await chmod(program, 0o755);
    const printer = new PdfPrinter({ program, path: '/usr/bin:/bin', timeoutMs: 3000 });
    await expect(print(printer)).rejects.toMatchObject({ message: expect.stringContaining('too long') });
    const { readFile } = await import('node:fs/promises');
    const started = (await readFile(pids, 'utf8')).trim().split(' ').map(Number);
    expect(started).toHaveLength(2);
    await expect.poll(() => started.filter(isAlive)).toEqual([]);
    directory.remove();
  });
});

/** A process that has ended may still be listed until it is reaped. */
function isAlive(pid: number): boolean {
  return existsSync(`/proc/${pid}/exe`) && process.kill(pid, 0);
}

describe('the Markdown of reports', () => {
  it('is taken apart into what a report is made of', () => {
    const blocks = parseMarkdown(
      '| a | b |\n|---|---|\n| c |\n\n# Title\n\n> Note\n\nOne **two** _three_ `four` https://a.example/x.\n\n- a\n- b\n\n1. c\n2. d\n\n```\ncode\n```',
    );
    expect(blocks.map(({ type }) => type).join(' ')).toBe('table heading quote paragraph list list code');
    expect(blocks[0]).toMatchObject({
      header: [[{ text: 'a' }], [{ text: 'b' }]],
      rows: [[[{ text: 'c' }], []]],
    });
    expect(blocks[3]).toEqual({
      type: 'paragraph',
      children: [
        { type: 'text', text: 'One ' },
        { type: 'strong', children: [{ type: 'text', text: 'two' }] },
        { type: 'text', text: ' ' },
        { type: 'emphasis', children: [{ type: 'text', text: 'three' }] },
        { type: 'text', text: ' ' },
        { type: 'code', text: 'four' },
        { type: 'text', text: ' ' },
        { type: 'link', href: 'https://a.example/x', text: 'https://a.example/x' },
        { type: 'text', text: '.' },
      ],
    });
  });
});

interface BibtexEntry {
  key: string;
  fields: Record<string, string | undefined>;
}

/** Reads entries by counting braces, and fails on what a BibTeX reader would not take. */
function parseBibtex(text: string): BibtexEntry[] {
  const entries: BibtexEntry[] = [];
  let rest = text.trim();
  while (rest !== '') {
    const head = /^@(\w+)\{(\w+),\s*/.exec(rest);
    if (head === null) throw new Error(`No entry at: ${rest.slice(0, 40)}`);
    rest = rest.slice(head[0].length);
    const fields: Record<string, string> = {};
    while (!rest.startsWith('}')) {
      const name = /^(\w+) = \{/.exec(rest);
      if (name === null) throw new Error(`No field at: ${rest.slice(0, 40)}`);
      const end = closing(rest, name[0].length);
      fields[name[1]!] = rest.slice(name[0].length, end);
      rest = rest.slice(end + 1).replace(/^,?\s*/, '');
    }
    rest = rest.slice(1).trimStart();
    entries.push({ key: head[2]!, fields });
  }
  return entries;
}

function closing(text: string, start: number): number {
  for (let depth = 1, at = start; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text[at] === '{') depth += 1;
    else if (text[at] === '}' && --depth === 0) return at;
  }
  throw new Error('A field does not end.');
}
