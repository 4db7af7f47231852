import type { Claim } from '../api-types.ts';
import { judgesText, problemText } from '../citations/judge-words.ts';
import { type Bundle, citedSources } from './bundle.ts';
import { HTML_STYLE } from './html-style.ts';
import { claimAnchor, linkedReport, verdictText } from './linked-report.ts';
import type { Block, Inline } from './markdown.ts';

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
