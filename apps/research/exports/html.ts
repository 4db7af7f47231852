import type { Claim } from '../api-types.ts';
import { judgesText, problemText } from '../citations/marks.ts';
import { type Bundle, citedSources } from './bundle.ts';
import { type Block, claimAnchor, type Inline, linkedReport, verdictText } from './markdown.ts';

/** The look of an exported report, on screen and on paper. */
const HTML_STYLE = `
:root { color-scheme: light dark; --ink: light-dark(#1c1b19, #ece8e0); --muted: light-dark(#6a6459, #a29e96); --line: light-dark(#e4dfd5, #2b2e38); --accent: light-dark(#96540f, #f0a04b); --good: light-dark(#24704a, #6cc797); --bad: light-dark(#ad372e, #f08b81); }
body { margin: 0; background: light-dark(#faf8f4, #14151a); color: var(--ink); font: 16px/1.6 system-ui, sans-serif; }
main { max-width: 68ch; margin: 0 auto; padding: 3rem 1.25rem; overflow-wrap: anywhere; }
h1, h2, h3 { line-height: 1.25; text-wrap: balance; }
h1 { font-size: 1.75rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem; } h3 { font-size: 1rem; }
a { color: var(--accent); }
blockquote { margin: 1rem 0; padding-left: 1rem; border-left: 2px solid var(--accent); color: var(--muted); }
.cite { text-decoration: none; font-size: 0.875em; } .doubt { color: var(--bad); }
.evidence { padding-left: 1.5rem; } .evidence > li { margin: 1.25rem 0; padding-bottom: 0.5rem; border-bottom: 1px solid var(--line); } .evidence > li:target { outline: 2px solid var(--accent); outline-offset: 6px; }
.evidence p { margin: 0.25rem 0; } .holds { color: var(--good); } .fails { color: var(--bad); } .from, footer { color: var(--muted); font-size: 0.875rem; }
.table { overflow-x: auto; margin: 1rem 0; } table { border-collapse: collapse; font-size: 0.9375rem; overflow-wrap: normal; } th, td { padding: 0.375rem 0.75rem; border: 1px solid var(--line); text-align: left; vertical-align: top; } .center { text-align: center; } .right { text-align: right; }
pre { overflow-x: auto; padding: 1rem; border: 1px solid var(--line); border-radius: 8px; }
footer { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1rem; }
@media print { :root { color-scheme: light; } body { background: none; font-size: 11pt; } main { max-width: none; padding: 0; } h2, h3 { break-after: avoid; } .table { overflow: visible; } tr { break-inside: avoid; } .evidence > li { break-inside: avoid; } }
@page { margin: 2cm; }
`;

/** The report as one file that needs nothing from outside: its citations lead to the passages at its end. */
export function toHtml(bundle: Bundle): string {
  const { job, claims } = bundle;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(job.query)}</title>
<style>${HTML_STYLE}</style>
</head>
<body>
<main>
${linkedReport(bundle)
  .map((block) => blockHtml(block, claims))
  .join('\n')}
<section>
<h2>Evidence</h2>
<p>${escapeHtml(scoreWords(bundle))}</p>
<ol class="evidence">
${claims.map((claim, index) => claimHtml(claim, index, bundle)).join('\n')}
</ol>
</section>
<footer>${escapeHtml(footer(bundle))}</footer>
</main>
</body>
</html>
`;
}

function scoreWords({ job }: Bundle): string {
  const { total = 0, supported = 0, uncited = 0 } = job.citations ?? {};
  const judges = judgesText(job.citations ?? {});
  return [
    `${supported} of ${total} citations are borne out by the stored text of their page${judges && ` (${judges})`}.`,
    ...(uncited === 0 ? [] : [`${uncited} sentences cite nothing.`]),
    problemText(job.citations ?? {}),
  ]
    .filter(Boolean)
    .join(' ');
}

function footer({ job }: Bundle): string {
  const day = new Date(job.createdAt).toISOString().slice(0, 10);
  return `Researched on ${day} with ${job.model.name}. Job ${job.id}.`;
}

function claimHtml(claim: Claim, index: number, bundle: Bundle): string {
  const { sentence, passage, supported } = claim;
  const source = citedSources(bundle).find(({ number }) => number === claim.number);
  const quote = passage === '' ? '' : `<blockquote>${escapeHtml(passage)}</blockquote>`;
  const from = source === undefined ? '' : `<p class="from">${link(source.url, source.title)}</p>`;
  return `<li id="${claimAnchor(index).slice(1)}"><p>${escapeHtml(sentence)}</p><p class="${supported ? 'holds' : 'fails'}">${escapeHtml(verdictText(claim))}</p>${quote}${from}</li>`;
}

function blockHtml(block: Block, claims: readonly Claim[]): string {
  const inner = (children: readonly Inline[]) => children.map((child) => inlineHtml(child, claims)).join('');
  switch (block.type) {
    case 'heading':
      return `<h${block.level}>${inner(block.children)}</h${block.level}>`;
    case 'quote':
      return `<blockquote><p>${inner(block.children)}</p></blockquote>`;
    case 'list': {
      const tag = block.ordered ? 'ol' : 'ul';
      return `<${tag}>${block.items.map((item) => `<li>${inner(item)}</li>`).join('')}</${tag}>`;
    }
    case 'table': {
      const row = (cells: readonly Inline[][], tag: string) =>
        `<tr>${cells.map((cell, column) => `<${tag} class="${block.aligns[column]}">${inner(cell)}</${tag}>`).join('')}</tr>`;
      return `<div class="table"><table><thead>${row(block.header, 'th')}</thead><tbody>${block.rows.map((cells) => row(cells, 'td')).join('')}</tbody></table></div>`;
    }
    case 'code':
      return `<pre><code>${escapeHtml(block.text)}</code></pre>`;
    default:
      return `<p>${inner(block.children)}</p>`;
  }
}

function inlineHtml(part: Inline, claims: readonly Claim[]): string {
  if (part.type === 'text') return escapeHtml(part.text);
  if (part.type === 'code') return `<code>${escapeHtml(part.text)}</code>`;
  if (part.type === 'link')
    return part.href.startsWith('#') ? citation(part, claims) : link(part.href, part.text);
  const tag = part.type === 'strong' ? 'strong' : 'em';
  return `<${tag}>${part.children.map((child) => inlineHtml(child, claims)).join('')}</${tag}>`;
}

function citation({ href, text }: { href: string; text: string }, claims: readonly Claim[]): string {
  const claim = claims.find((_, index) => claimAnchor(index) === href);
  const title =
    claim === undefined ? '' : ` title="${escapeHtml(`${verdictText(claim)}. ${claim.passage}`)}"`;
  return `<a class="${claim?.supported === true ? 'cite' : 'cite doubt'}" href="${escapeHtml(href)}"${title}>${escapeHtml(text)}</a>`;
}

/** Addresses of other kinds, such as those of the user's own files, lead nowhere outside the service. */
function link(href: string, text: string): string {
  return /^https?:\/\//.test(href)
    ? `<a href="${escapeHtml(href)}" rel="noopener noreferrer">${escapeHtml(text)}</a>`
    : escapeHtml(text);
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
