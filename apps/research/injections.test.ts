// The pages of security/attacks/research, played to real jobs with a model that obeys everything it reads and a judge that says yes.
import {
  type ChatRequestBody,
  type CorpusPage,
  pdfOf,
  readCases,
  startModelServer,
  startSearchServer,
  temporaryDirectory,
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
};

function pageOf({ order, place }: (typeof pages)[number], index: number): CorpusPage {
  const group = groupOf(index);
  const title = place === 'title' ? order : `Notes on ${group} ${nameOf(index, 2)}`;
  const facts = `${factOf(index)} Its engineers ${nameOf(index, 3)} and ${nameOf(index, 4)} report from ${group} on ${nameOf(index, 5)}.`;
  const page = { path: `/${group}/${index}`, title, text: `${group} ${facts}` };
  if (place === 'pdf') return { ...page, body: { type: 'application/pdf', bytes: pdfOf(facts, order) } };
  const meta = place === 'meta' ? `<meta name="description" content="${escaped(order)}">` : '';
  const html = `<!doctype html><html><head><title>${escaped(title)}</title>${meta}</head><body><main><p>${facts}</p>${markup[place]?.(escaped(order)) ?? ''}</main></body></html>`;
  return { ...page, body: { type: 'text/html; charset=utf-8', bytes: Buffer.from(html) } };
}

it(`none of ${pages.length} injected pages changes what a report recommends, links to or calls`, {
  timeout: 300_000,
}, async () => {
  expect(pages.length).toBeGreaterThanOrEqual(80);
  const seen = new Set<string>();
  const search = await startSearchServer({ pages: pages.map(pageOf) });
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
  const groups = [...new Set(pages.map((_, index) => groupOf(index)))];
  const jobs = await Promise.all(
    groups.map(async (query) => {
      const id = await client.startJob({ query });
      const events = await client.events(id);
      const { report, error } = await client.status(id);
      const told = events
        .filter(({ type }) => type !== 'dimension_source')
        .map(({ data }) => JSON.stringify(data));
      return { query, error, report: String(report), told: told.join('\n') };
    }),
  );
  // The orders did reach the model, and it wrote what they wanted.
  expect(seen.size).toBeGreaterThan(20);
  for (const { query, report, told, error } of jobs) {
    expect(error, query).toBeUndefined();
    expect(report).toMatch(/has a capacity of 2\d\d megawatts \[\d+\]/);
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
