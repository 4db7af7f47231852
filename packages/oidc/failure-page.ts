import { createHash } from 'node:crypto';
import type { HttpError } from '@trunkline/http';
import type { Context } from 'hono';

const STYLE = `
:root { color-scheme: light dark; --paper: #faf8f4; --ink: #1c1b19; --accent: #9a5410; }
@media (prefers-color-scheme: dark) { :root { --paper: #14151a; --ink: #ece8e0; --accent: #f0a04b; } }
body { margin: 0 auto; padding: 48px 24px; max-width: 560px; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 24px; line-height: 1.25; }
nav { display: flex; flex-wrap: wrap; gap: 8px 24px; margin-top: 24px; }
a { color: var(--accent); padding: 8px 0; }
a:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
`;

const POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; frame-ancestors 'none'`;

/** Says why nobody was signed in, and what to do. */
export function failurePage(
  context: Context,
  { code, message, status }: HttpError,
  { name, homePath, retryPath }: { name: string; homePath: string; retryPath: string },
): Response {
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Not signed in</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>You are not signed in</h1>
<p>${escapeHtml(message)}</p>
<nav aria-label="What to do">
<a href="${retryPath}">Sign in with ${escapeHtml(name)} again</a>
<a href="${escapeHtml(homePath)}">Back to the page</a>
</nav>
</main>
</body>
</html>
`;
  return context.body(html, status as 401, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': POLICY,
    'cache-control': 'no-store',
    'x-error-code': code,
  });
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
