import { createHash } from 'node:crypto';
import type { Context } from 'hono';
import { escapeHtml, readTheme } from '../reading/shell.ts';

const STYLE = `
body { margin: 0 auto; padding: 32px 24px 48px; max-width: 560px; background: var(--paper); color: var(--ink);
  font: 16px/1.5 "Instrument Sans Variable", system-ui, sans-serif; overflow-wrap: anywhere; }
header { display: flex; gap: 8px; align-items: center; font-weight: 600; }
h1 { margin: 32px 0 16px; font-size: 28px; line-height: 1.2; }
nav, form { display: flex; flex-wrap: wrap; gap: 8px 24px; margin-top: 24px; }
a { color: var(--accent-text); padding: 10px 0; }
button { font: inherit; color: inherit; padding: 10px 24px; border: 1px solid var(--line-strong); border-radius: 8px;
  background: var(--raised); cursor: pointer; }
button:hover { background: var(--hover); }
button[value="allow"] { background: var(--accent); border-color: var(--accent); color: var(--accent-ink); font-weight: 600; }
button[value="allow"]:hover { background: var(--accent-hover); }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 2px; }
`;

/** Read when the first page is asked for. */
let theme: { style: string; styleHash: string; icon: string } | undefined;

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

/**
 * A page of a few sentences that a person meets on the way to somewhere else. It has no script, and brings its style and
 * icon along: some are shown to people who may load nothing else of the service.
 */
export function plainPage(context: Context, page: PlainPage): Response {
  const { title, heading, paragraphs, links = [], form, status, headers } = page;
  theme ??= loadTheme();
  const { style, styleHash, icon } = theme;
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)}</title>
<link rel="icon" type="image/svg+xml" href="${icon}">
<style>${style}</style>
</head>
<body>
<header><img src="${icon}" alt="" width="24" height="24">Trunkline</header>
<main>
<h1>${escapeHtml(heading)}</h1>
${paragraphs.map((text) => `<p>${escapeHtml(text)}</p>`).join('\n')}
${form === undefined ? '' : formHtml(form)}
${links.length === 0 ? '' : linksHtml(links)}
</main>
</body>
</html>
`;
  // Browsers follow a redirect after a form only to where the policy lets it go.
  const target = form === undefined ? "'none'" : `'self' ${form.leadsTo}`;
  return context.body(html, status as 200, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; font-src 'self'; img-src data:; form-action ${target}; base-uri 'none'; frame-ancestors 'none'`,
    'cache-control': 'no-store',
    // Without a referrer, browsers name no origin with a form either.
    ...(form && { 'referrer-policy': 'same-origin' }),
    ...headers,
  });
}

function loadTheme() {
  const { style: base, icon } = readTheme();
  const style = `\n${base}${STYLE}`;
  return { style, icon, styleHash: createHash('sha256').update(style).digest('base64') };
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
