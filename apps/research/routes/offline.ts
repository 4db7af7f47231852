import { type AppEnv, describeRoute } from '@trunkline/http';
import type { Hono } from 'hono';
import { researchErrors } from '../errors.ts';
import { readOffline } from '../sources/offline.ts';

/** Entries of the offline reference works, where citations of them lead. */
export function mountOffline(app: Hono<AppEnv>): void {
  app.get(
    '/api/offline/:work/:id',
    describeRoute({
      summary: 'An entry of an offline reference work, as text',
      errors: [researchErrors.entry_not_found],
    }),
    async (c) => {
      const entry = await readOffline(c.req.param('work'), c.req.param('id'), c.req.raw.signal);
      if (entry === undefined) throw researchErrors.entry_not_found();
      return c.text(`${entry.title}\n\n${entry.text}\n`);
    },
  );
}
