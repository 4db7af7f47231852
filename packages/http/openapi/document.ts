import type { Hono } from 'hono';
import { generateSpecs } from 'hono-openapi';
import type { AppEnv } from '../app/context.ts';
import type { DocsOptions } from './mount-docs.ts';

export function generateDocument<Caller>(app: Hono<AppEnv<Caller>>, options: DocsOptions) {
  return generateSpecs(app, {
    documentation: {
      info: { title: options.service, version: options.version, description: options.description ?? '' },
    },
    includeEmptyPaths: true,
    excludeStaticFile: false,
  });
}
