import { setImmediate as nextTurn } from 'node:timers/promises';
import { heardGapsMs, itemsOf, type Timeline, type TimelineItem, tracks } from './timeline.ts';

// A timeline as a picture and as a page. Both stand alone: no script, no outside asset, dark and light.

const rowHeight = 22;
const trackGap = 14;
const margin = 12;
const characterWidth = 6.6;
const longestLabel = 48;
const pixelsPerSecond = 110;
/** Browsers do not show pictures that are much wider. */
const widest = 30_000;
const narrowest = 640;

/** The sound of other calls goes through the same thread: it gets its turn between two slices. */
const sliceItems = 200;

export async function renderTimeline(timeline: Timeline): Promise<{ html: string; svg: string }> {
  const items = itemsOf(timeline);
  const svg = await renderSvg(timeline, items);
  return { html: await renderHtml(timeline, items, svg), svg };
}

async function mapInSlices<Item>(items: readonly Item[], render: (item: Item) => string): Promise<string[]> {
  const rendered: string[] = [];
  for (const [index, item] of items.entries()) {
    if (index % sliceItems === 0) await nextTurn();
    rendered.push(render(item));
  }
  return rendered;
}

async function renderSvg(timeline: Timeline, items: readonly TimelineItem[]): Promise<string> {
  const seconds = Math.max(1, timeline.lengthMs / 1000);
  const scale = Math.min(pixelsPerSecond, widest / seconds) / 1000;
  let top = 26;
  const drawn: string[] = [];
  for (const name of tracks) {
    const trackItems = items.filter(({ track }) => track === name);
    if (trackItems.length === 0) continue;
    const { rows, count } = packRows(trackItems, scale);
    const start = top + 14;
    top = start + count * rowHeight + trackGap;
    const title = `<text class="track" x="${margin}" y="${start - 3}">${escapeXml(name)}</text>`;
    const draw = ({ item, row }: PackedItem) => drawItem(item, start + row * rowHeight, scale);
    drawn.push(title, ...(await mapInSlices(rows, draw)));
  }
  const ends = items.map((item) => margin + extentOf(item, scale).to + margin);
  const width = Math.ceil(Math.max(narrowest, timeline.lengthMs * scale + 2 * margin, ...ends));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${top}" viewBox="0 0 ${width} ${top}" role="img" aria-label="${escapeXml(timeline.title)}">`,
    `<style>${colours('svg')}${drawing}</style>`,
    `<rect class="ground" width="${width}" height="${top}"/>`,
    ...drawAxis(seconds, scale, top),
    ...drawn,
    '</svg>',
  ].join('\n');
}

async function renderHtml(timeline: Timeline, items: readonly TimelineItem[], svg: string): Promise<string> {
  const { title, startedAt, lengthMs } = timeline;
  const gaps = heardGapsMs(timeline);
  const facts = [
    `Started ${startedAt.toISOString()}`,
    `${(lengthMs / 1000).toFixed(1)} s`,
    ...(gaps.length === 0 ? [] : [`heard an answer after ${gaps.map((ms) => `${ms} ms`).join(', ')}`]),
  ];
  const rows = await mapInSlices(
    items.filter(({ text }) => text !== ''),
    tableRow,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escapeXml(title)}</title>
<style>${colours(':root')}${page}</style>
</head>
<body>
<h1>${escapeXml(title)}</h1>
<p class="facts">${escapeXml(facts.join(' · '))}</p>
<div class="picture" tabindex="0" role="region" aria-label="Timeline, scroll sideways">
${svg}
</div>
<table>
<thead><tr><th scope="col">Time</th><th scope="col">Track</th><th scope="col">What</th><th scope="col">Why, or result</th></tr></thead>
<tbody>
${rows.join('\n')}
</tbody>
</table>
</body>
</html>
`;
}

function tableRow({ fromMs, track, tone, text, detail = '' }: TimelineItem): string {
  const cells = [
    `<td class="time">${(fromMs / 1000).toFixed(2)} s</td>`,
    `<td><span class="chip ${tone}">${escapeXml(track)}</span></td>`,
    `<td>${escapeXml(text)}</td>`,
    `<td class="why">${escapeXml(detail)}</td>`,
  ];
  return `<tr>${cells.join('')}</tr>`;
}

interface PackedItem {
  item: TimelineItem;
  row: number;
}

/** Items that would cover each other go to different rows. */
function packRows(
  items: readonly TimelineItem[],
  scale: number,
): { rows: readonly PackedItem[]; count: number } {
  const ends: number[] = [];
  const rows = items.map((item) => {
    const { from, to } = extentOf(item, scale);
    const free = ends.findIndex((end) => end <= from);
    const row = free === -1 ? ends.length : free;
    ends[row] = to + 6;
    return { item, row };
  });
  return { rows, count: ends.length };
}

function extentOf(item: TimelineItem, scale: number): { from: number; to: number } {
  const from = item.fromMs * scale;
  const label = labelOf(item).length * characterWidth;
  return { from, to: Math.max(item.toMs * scale, from + label + 10, from + 4) };
}

function labelOf({ text }: TimelineItem): string {
  return text.length > longestLabel ? `${text.slice(0, longestLabel - 1)}…` : text;
}

function drawItem(item: TimelineItem, y: number, scale: number): string {
  const x = margin + item.fromMs * scale;
  const width = Math.max(3, (item.toMs - item.fromMs) * scale);
  const time = `${(item.fromMs / 1000).toFixed(2)} s`;
  const hint = [time, item.text, item.detail ?? ''].filter((part) => part !== '').join(' · ');
  return [
    `<g class="${item.tone}"><title>${escapeXml(hint)}</title>`,
    `<rect x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${rowHeight - 4}" rx="3"/>`,
    `<text x="${(x + 6).toFixed(1)}" y="${y + 13}">${escapeXml(labelOf(item))}</text></g>`,
  ].join('');
}

function drawAxis(seconds: number, scale: number, height: number): string[] {
  const every = [1, 5, 10, 60].find((step) => step * 1000 * scale >= 50) ?? 300;
  const marks = Array.from({ length: Math.floor(seconds / every) + 1 }, (_, index) => index * every);
  return marks.map((second) => {
    const x = (margin + second * 1000 * scale).toFixed(1);
    return `<line class="grid" x1="${x}" x2="${x}" y1="20" y2="${height}"/><text class="tick" x="${x}" y="14">${second} s</text>`;
  });
}

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** Control characters have no place in XML. */
function escapeXml(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is removed
  const special = /[&<>"\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;
  return text.replaceAll(special, (character) => escapes[character] ?? '');
}

const light =
  '--ground:#fff;--ink:#1b1f27;--muted:#5b6472;--line:#dfe3ea;--caller:#cfe3ff;--bot:#cdeedd;--decision:#ffe6b8;--tool:#e6dcff;--problem:#ffd2d2;--plain:#e8ebf0;';
const dark =
  '--ground:#14171d;--ink:#e8ebf0;--muted:#9aa4b2;--line:#2c323c;--caller:#1f4673;--bot:#1f573c;--decision:#66490f;--tool:#463376;--problem:#74282c;--plain:#353c48;';

function colours(scope: string): string {
  return `${scope}{color-scheme:light dark;${light}}@media (prefers-color-scheme:dark){${scope}{${dark}}}`;
}

const tones = ['caller', 'bot', 'decision', 'tool', 'problem', 'plain'];
const drawing = `text{font:12px system-ui,sans-serif;fill:var(--ink)}.ground{fill:var(--ground)}.track{font-weight:600;fill:var(--muted);font-size:11px}.tick{fill:var(--muted);font-size:11px}.grid{stroke:var(--line)}${tones.map((tone) => `.${tone} rect{fill:var(--${tone})}`).join('')}`;
const page = `body{margin:0 auto;max-width:1100px;padding:16px;font:15px/1.5 system-ui,sans-serif;background:var(--ground);color:var(--ink)}h1{font-size:20px;margin:0 0 4px;overflow-wrap:anywhere}.facts{color:var(--muted);margin:0 0 16px}.picture{overflow-x:auto;border:1px solid var(--line);border-radius:8px}.picture:focus-visible{outline:2px solid var(--ink)}.picture svg{display:block}table{width:100%;border-collapse:collapse;margin-top:16px}th{text-align:left;font-size:13px;color:var(--muted)}td,th{padding:6px 8px;border-bottom:1px solid var(--line);vertical-align:top;overflow-wrap:anywhere}.time{white-space:nowrap;font-variant-numeric:tabular-nums}.why{color:var(--muted)}.chip{white-space:nowrap;border-radius:4px;padding:1px 6px;font-size:13px}${tones.map((tone) => `.chip.${tone}{background:var(--${tone})}`).join('')}@media (max-width:640px){thead{position:absolute;clip-path:inset(50%)}tr{display:grid;grid-template-columns:auto 1fr;border-bottom:1px solid var(--line);padding:6px 0}td{border:0;padding:2px 4px}td:nth-child(n+3){grid-column:1/-1}.why:empty{display:none}}`;
