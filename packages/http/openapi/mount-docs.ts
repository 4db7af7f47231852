import type { Hono } from 'hono';
import type { AppEnv } from '../app/context.ts';
import { generateDocument } from './document.ts';

export interface DocsOptions {
  service: string;
  version: string;
  description?: string;
}

/** The machine-readable description at `/openapi.json` and the page for people at `/docs`. */
export function mountDocs<Caller>(app: Hono<AppEnv<Caller>>, options: DocsOptions): void {
  app.get('/openapi.json', async (context) => context.json(await generateDocument(app, options)));
}
