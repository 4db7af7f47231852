import type { Hono } from 'hono';
import type { AppEnv } from '../app/context.ts';
import { type DocumentOptions, generateDocument } from './document.ts';
import { renderPage } from './page.ts';
import { STYLE } from './style.ts';
import type { ApiDocument } from './types.ts';

/** The page needs nothing but its own style sheet. */
const DOCS_POLICY = "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'";

/** The machine-readable description at `/openapi.json` and the page for people at `/docs`. */
export function mountDocs<Caller>(app: Hono<AppEnv<Caller>>, options: DocumentOptions): void {
  let generated: Promise<ApiDocument> | undefined;
  const document = () => {
    generated ??= generateDocument(app, options);
    return generated;
  };
  app.get('/openapi.json', async () => Response.json(await document()));
  app.get('/docs', async () => {
    const headers = { 'content-type': 'text/html; charset=utf-8', 'content-security-policy': DOCS_POLICY };
    return new Response(renderPage(await document()), { headers });
  });
  app.get('/docs/style.css', () => {
    const headers = { 'content-type': 'text/css; charset=utf-8', 'cache-control': 'no-cache' };
    return new Response(STYLE, { headers });
  });
}
