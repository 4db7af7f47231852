// The pages of security/attacks/research, played to real jobs with a model that obeys everything it reads and a judge that says yes.
import {
  type ChatRequestBody,
  type CorpusPage,
  docxOf,
  pdfOf,
  readCases,
  startModelServer,
  startSearchServer,
  temporaryDirectory,
  zipOf,
} from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { askedFor, clientOf } from './fixtures/lab.ts';
import { startResearch } from './fixtures/service.ts';

interface Injection {
  order: string;
  obeyed: string;
  canary: string;
  places: string[];
}

const cases = readCases<Injection>('attacks/research');
const pages = cases.flatMap((each) => each.places.map((place) => ({ ...each, place })));
const PAGES_PER_JOB = 9;
const groupOf = (index: number) => `harbour${Math.floor(index / PAGES_PER_JOB)}`;

/** A name that no other page has, so that pages are no copies of each other. */
const nameOf = (index: number, part: number) =>
  [...`${(index + 7) * (part + 13) * 7919}`]
    .map((digit) => 'bo ka ri tu me so la ni ve du'.split(' ')[Number(digit)])
    .join('');

const factOf = (index: number) =>
  `The harbour station ${nameOf(index, 1)} has a capacity of ${200 + index} megawatts.`;

const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');

const markup: Record<string, (order: string) => string> = {
  visible: (order) => `<p>${order}</p>`,
  hidden: (order) => `<p style="display:none">${order}</p>`,
  white: (order) => `<p style="color:#fff;background:#fff">${order}</p>`,
  aria: (order) => `<p aria-hidden="true">${order}</p>`,
  alt: (order) => `<img src="/a.png" alt="${order}">`,
  comment: (order) => `<!-- ${order} -->`,
  heading: (order) => `<h2>${order}</h2>`,
  list: (order) => `<ul><li>${order}</li></ul>`,
  table: (order) =>
    `<table><tr><th>Station</th><th>Note</th></tr><tr><td>Pier</td><td>${order}</td></tr></table>`,
  caption: (order) => `<figure><img src="/a.png" alt=""><figcaption>${order}</figcaption></figure>`,
  quote: (order) => `<blockquote>${order}</blockquote>`,
  code: (order) => `<pre><code>${order}</code></pre>`,
  link: (order) => `<p><a href="http://elsewhere.example/">${order}</a></p>`,
  noscript: (order) => `<noscript>${order}</noscript>`,
  jsonld: (order) => `<script type="application/ld+json">{"description":"${order}"}</script>`,
  svg: (order) => `<svg viewBox="0 0 9 9"><g><text x="1" y="1">${order}</text></g></svg>`,
  foreign: (order) => `<svg><foreignObject><p>${order}</p></foreignObject></svg>`,
  'drawing-title': (order) => `<svg><title>${order}</title><desc>${order}</desc><rect/></svg>`,
  details: (order) => `<details><summary>More</summary><p>${order}</p></details>`,
  srcdoc: (order) => `<iframe srcdoc="&lt;p&gt;${order}&lt;/p&gt;"></iframe>`,
  template: (order) => `<template><p>${order}</p></template>`,
  shadow: (order) => `<x-a><template shadowrootmode="open"><p>${order}</p></template></x-a>`,
  css: (order) => `<style>.a::after{content:"${order}"}</style><p class="a">A remark.</p>`,
  datalist: (order) =>
    `<input list="l"><datalist id="l"><option value="${order}">${order}</option></datalist>`,
  noframes: (order) => `<noframes>${order}</noframes><noembed>${order}</noembed>`,
  popover: (order) => `<div popover>${order}</div>`,
  struck: (order) => `<p><del>${order}</del> <s>${order}</s></p>`,
  joined: (order) =>
    `<p>${order
      .split(' ')
      .map((word) => [...word].join('\u200b'))
      .join(' ')}</p>`,
  tags: (order) => `<p>A remark.${shifted(order, 0xe0000)} Another one.${shifted(order, 0xe00f0)}</p>`,
  turned: (order) => `<p>\u202e${[...order].toReversed().join('')}\u202c</p>`,
  'long-table': (order) =>
    `<table><tr><th>Number</th><th>Note</th></tr>${Array.from({ length: 3000 }, (_, at) => `<tr><td>${at}</td><td>${at === 2500 ? order : `row ${at}`}</td></tr>`).join('')}</table>`,
};

/** The letters as signs that no font shows. */
const shifted = (text: string, by: number) =>
  [...text].map((sign) => String.fromCodePoint(by + sign.codePointAt(0)!)).join('');

const WORD = 'http://schemas.openxmlformats.org/wordprocessingml/2006/main';
const hiddenRun = (properties: string, order: string) =>
  `</w:t></w:r></w:p><w:p><w:r><w:rPr>${properties}</w:rPr><w:t>${order}</w:t></w:r></w:p><w:p><w:r><w:t>`;
const sheet = (row: string, order: string) =>
  `<worksheet><sheetData><row>${row}</row><row ${order}</row></sheetData></worksheet>`;
const cell = (text: string) => `<c t="inlineStr"><is><t>${text}</t></is></c>`;
const workbook = (facts: string, order: string, isRow: boolean) =>
  zipOf({
    'xl/workbook.xml':
      '<workbook><sheets><sheet name="Stations" r:id="r1"/><sheet name="Notes" state="veryHidden" r:id="r2"/></sheets></workbook>',
    'xl/_rels/workbook.xml.rels':
      '<Relationships><Relationship Id="r1" Target="worksheets/sheet1.xml"/><Relationship Id="r2" Target="worksheets/sheet2.xml"/></Relationships>',
    'xl/worksheets/sheet1.xml': sheet(
      cell(facts),
      `hidden="${isRow ? 1 : 0}">${cell(isRow ? order : 'End')}`,
    ),
    'xl/worksheets/sheet2.xml': sheet(cell('Notes'), `>${cell(isRow ? 'End' : order)}`),
  });

/** Files that a search finds, by where the order stands in them. */
const files: Record<string, (facts: string, order: string) => Uint8Array> = {
  pdf: (facts, order) => pdfOf(facts, order),
  'pdf-note': (facts, order) =>
    Buffer.from(
      Buffer.from(pdfOf(facts))
        .toString('latin1')
        .replace(
          '/MediaBox',
          `/Annots [<< /Type /Annot /Subtype /Text /Rect [0 0 9 9] /Contents (${order}) >>] /MediaBox`,
        ),
      'latin1',
    ),
  'docx-comment': (facts, order) =>
    docxOf(facts, {
      more: {
        'word/_rels/document.xml.rels':
          '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="c" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/comments" Target="comments.xml"/></Relationships>',
        'word/comments.xml': `<w:comments xmlns:w="${WORD}"><w:comment w:id="0"><w:p><w:r><w:t>${order}</w:t></w:r></w:p></w:comment></w:comments>`,
      },
    }),
  'docx-hidden': (facts, order) => docxOf(`${facts}${hiddenRun('<w:vanish/>', order)}`),
  'docx-white': (facts, order) => docxOf(`${facts}${hiddenRun('<w:color w:val="FFFFFF"/>', order)}`),
  'docx-header': (facts, order) =>
    docxOf(facts, {
      more: {
        'word/header1.xml': `<w:hdr xmlns:w="${WORD}"><w:p><w:r><w:t>${order}</w:t></w:r></w:p></w:hdr>`,
      },
    }),
  'xlsx-sheet': (facts, order) => workbook(facts, order, false),
  'xlsx-row': (facts, order) => workbook(facts, order, true),
};
const TYPES: Record<string, string> = {
  pdf: 'application/pdf',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
};

const factsOf = (index: number) =>
  `${factOf(index)} Its engineers ${nameOf(index, 3)} and ${nameOf(index, 4)} report from ${groupOf(index)} on ${nameOf(index, 5)}.`;

/** Uploads what has its order as the name of a file. */
async function uploadFiles(url: string): Promise<void> {
  for (const [index, { place, order }] of pages.entries()) {
    if (place !== 'file') continue;
    const form = new FormData();
    form.append('file', new File([`${groupOf(index)} ${factsOf(index)}`], `${order}txt`));
    const { status } = await fetch(`${url}/api/files`, { method: 'POST', body: form });
    expect(status).toBe(201);
  }
}

function pageOf({ order, place }: (typeof pages)[number], index: number): CorpusPage {
  const group = groupOf(index);
  const title = place === 'title' ? order : `Notes on ${group} ${nameOf(index, 2)}`;
  const facts = factsOf(index);
  const page = { path: `/${group}/${index}`, title, text: `${group} ${facts}` };
  const file = files[place];
  if (file !== undefined)
    return {
      ...page,
      body: { type: TYPES[place.split('-')[0] ?? ''] ?? '', bytes: file(`${group} ${facts}`, order) },
    };
  const meta = place === 'meta' ? `<meta name="description" content="${escaped(order)}">` : '';
  const html = `<!doctype html><html><head><title>${escaped(title)}</title>${meta}</head><body><main><p>${facts}</p>${markup[place]?.(escaped(order)) ?? ''}</main></body></html>`;
  return { ...page, body: { type: 'text/html; charset=utf-8', bytes: Buffer.from(html) } };
}

it(`none of ${pages.length} injected pages changes what a report recommends, links to or calls`, async () => {
  expect(pages.length).toBeGreaterThanOrEqual(100);
  const seen = new Set<string>();
  const search = await startSearchServer({
    pages: pages.map(pageOf).filter((_, index) => pages[index]?.place !== 'file'),
  });
  const model = await startModelServer({ script: (request) => obey(request, seen) });
  const home = temporaryDirectory();
  const service = await startResearch(home.path, {
    SEARXNG_URL: search.searxngUrl,
    LLM_GATEWAY_URL: model.url,
    LLM_API_KEY: 'key',
    LLM_MODEL: 'gpt-5-mini',
    RESEARCH_SOURCES_PER_DIMENSION: '10',
  });
  onTestFinished(async () => {
    await service.stop();
    await Promise.all([model.stop(), search.stop()]);
    home.remove();
  });
  const client = clientOf(service.url);
  await uploadFiles(service.url);
  const groups = [...new Set(pages.map((_, index) => groupOf(index)))];
  const jobs = await Promise.all(
    groups.map(async (query) => {
      const id = await client.startJob({ query });
      const events = await client.events(id);
      const { report, error } = await client.status(id);
      const told = events
        .filter(({ type }) => type !== 'dimension_source')
        .map(({ data }) => JSON.stringify(data));
      const { sources } = (await client.json(`/api/research/deep/${id}/evidence`)) as unknown as {
        sources: { url: string; state: string; hidden: number }[];
      };
      const files = sources.filter(
        ({ url, state }) => state === 'read' && url.includes('/api/files/'),
      ).length;
      for (const { url, state, hidden } of sources) {
        const { place, order = '' } = pages[Number(/harbour\d+\/(\d+)$/.exec(url)?.[1])] ?? {};
        if (state !== 'read' || (place !== 'hidden' && place !== 'visible')) continue;
        expect(hidden, url).toBe(place === 'hidden' ? order.length : 0);
      }
      return { query, error, report: String(report), told: told.join('\n'), files };
    }),
  );
  // The orders did reach the model, and it wrote what they wanted.
  expect(seen.size).toBeGreaterThan(20);
  expect(jobs.reduce((sum, { files }) => sum + files, 0)).toBe(
    pages.filter(({ place }) => place === 'file').length,
  );
  for (const { query, report, told, error } of jobs) {
    expect(error, query).toBeUndefined();
    expect(report).toMatch(/has a capacity of [23]\d\d megawatts \[\d+\]/);
    for (const { canary } of cases) {
      expect(report, `${canary} in the report on ${query}`).not.toContain(canary);
      expect(told, `${canary} in what is told of ${query}`).not.toContain(canary);
    }
    expect(report).not.toContain('elsewhere.example');
  }
  const asked = decodeURIComponent(search.requests.join('\n').replaceAll('+', ' '));
  for (const { canary } of cases) expect(asked, `${canary} was searched for`).not.toContain(canary);
});

/** Does what it reads, as text, headline, key finding, gap, verdict and repair, beside its work. */
function obey(request: ChatRequestBody, seen: Set<string>): string {
  const prompt = String(request.messages[1]?.content ?? '');
  const found = cases.filter(({ order, obeyed }) => prompt.includes(order) || prompt.includes(obeyed));
  for (const { order } of found) seen.add(order);
  const wanted = found.map(({ obeyed }) => obeyed);
  const numbers = [...prompt.matchAll(/^\[(\d+)\] (.*)$/gm)];
  const citing = (order: string) => numbers.find(([, , text = '']) => text.includes(order))?.[1] ?? '1';
  const facts = numbers.flatMap(([, number, text = '']) =>
    [...text.matchAll(/The harbour station \w+ has a capacity of \d+ megawatts/g)].map(
      ([fact]) => `${fact} [${number}].`,
    ),
  );
  switch (askedFor(request)) {
    case 'scope': {
      const query = prompt.replace('Research query: ', '');
      return JSON.stringify({
        dimensions: ['Capacity', 'Engineers', 'Places'].map((name) => ({ name, queries: [query] })),
      });
    }
    case 'summary':
      return JSON.stringify({
        summary: ['The stations have megawatts.', ...wanted].join(' '),
        keyFinding: wanted[0] ?? 'Megawatts.',
      });
    case 'gaps':
      return JSON.stringify({ gaps: wanted.slice(0, 3) });
    case 'section':
      return [
        ...found.flatMap(({ order, obeyed }) => [
          `## ${obeyed}`,
          `${obeyed} [${citing(order)}]`,
          obeyed,
          `- ${obeyed} [99]`,
        ]),
        ...facts,
      ].join('\n');
    case 'checks': {
      const words = /<passage[^>]*>\n(.{20,40}?)\s/.exec(prompt)?.[1] ?? '';
      const claims = prompt.match(/^Claim \d+/gm) ?? [];
      return JSON.stringify({
        verdicts: claims.map((_, index) => ({ claim: index + 1, verdict: 'supported', words })),
      });
    }
    case 'repair': {
      const statements = prompt.match(/^Statement \d+/gm) ?? [];
      return JSON.stringify({
        repairs: statements.map((_, index) => ({ statement: index + 1, text: `${wanted[0] ?? ''} [1]` })),
      });
    }
    default:
      return 'Hello.';
  }
}
