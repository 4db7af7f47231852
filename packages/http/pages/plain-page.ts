import { createHash } from 'node:crypto';
import type { Context } from 'hono';
import { escapeHtml } from '../reading/shell.ts';

const STYLE = `
:root { color-scheme: light dark; --paper: #faf8f4; --ink: #1c1b19; --accent: #9a5410; }
@media (prefers-color-scheme: dark) { :root { --paper: #14151a; --ink: #ece8e0; --accent: #f0a04b; } }
body { margin: 0 auto; padding: 48px 24px; max-width: 560px; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 24px; line-height: 1.25; }
nav, form { display: flex; flex-wrap: wrap; gap: 8px 24px; margin-top: 24px; }
a { color: var(--accent); padding: 8px 0; }
button { font: inherit; padding: 8px 24px; border: 1px solid var(--accent); border-radius: 6px; background: none;
  color: var(--accent); cursor: pointer; }
button[value="allow"] { background: var(--accent); color: var(--paper); }
a:focus-visible, button:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
`;

let styleHash: string | undefined;

interface PlainPage {
  title: string;
  heading: string;
  /** Text, not HTML. */
  paragraphs: readonly string[];
  links?: readonly { href: string; text: string }[];
  /** Sends its hidden fields and the value of the button, as `decision`, to a path of the service. */
  form?: { action: string; fields: Record<string, string>; buttons: readonly PageButton[]; leadsTo: string };
  status: number;
  headers?: Record<string, string>;
}

interface PageButton {
  value: string;
  text: string;
}

/** A page of a few sentences that a person meets on the way to somewhere else. It has no script. */
export function plainPage(context: Context, page: PlainPage): Response {
  const { title, heading, paragraphs, links = [], form, status, headers } = page;
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escapeHtml(heading)}</h1>
${paragraphs.map((text) => `<p>${escapeHtml(text)}</p>`).join('\n')}
${form === undefined ? '' : formHtml(form)}
${links.length === 0 ? '' : linksHtml(links)}
</main>
</body>
</html>
`;
  styleHash ??= createHash('sha256').update(STYLE).digest('base64');
  // Browsers follow a redirect after a form only to where the policy lets it go.
  const target = form === undefined ? "'none'" : `'self' ${form.leadsTo}`;
  return context.body(html, status as 200, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; form-action ${target}; base-uri 'none'; frame-ancestors 'none'`,
    'cache-control': 'no-store',
    // Without a referrer, browsers name no origin with a form either.
    ...(form && { 'referrer-policy': 'same-origin' }),
    ...headers,
  });
}

function linksHtml(links: NonNullable<PlainPage['links']>): string {
  const each = links.map(({ href, text }) => `<a href="${escapeHtml(href)}">${escapeHtml(text)}</a>`);
  return `<nav aria-label="What to do">\n${each.join('\n')}\n</nav>`;
}

function formHtml({ action, fields, buttons }: NonNullable<PlainPage['form']>): string {
  const hidden = Object.entries(fields).map(
    ([name, value]) => `<input type="hidden" name="${escapeHtml(name)}" value="${escapeHtml(value)}">`,
  );
  const shown = buttons.map(
    ({ value, text }) => `<button name="decision" value="${escapeHtml(value)}">${escapeHtml(text)}</button>`,
  );
  return `<form method="post" action="${escapeHtml(action)}">\n${[...hidden, ...shown].join('\n')}\n</form>`;
}
