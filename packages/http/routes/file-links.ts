import type { Hono } from 'hono';
import { z } from 'zod';
import type { AppEnv } from '../app/context.ts';
import { defineErrors } from '../errors/http-error.ts';
import { describeRoute } from '../openapi/describe-route.ts';
import { validate } from '../validation/validate.ts';

interface LinkedFile {
  name: string;
  mediaType: string;
  bytes: Uint8Array;
}

/**
 * What a link leads to: `refused` where it is forged or too old, undefined where the file is no longer stored, `away` where a
 * process that does not answer may store it.
 */
export type OpenLink = (
  id: string,
  link: { expires: number; signature: string },
) => Promise<LinkedFile | 'refused' | 'away' | undefined>;

const { link_refused, not_found, file_away } = defineErrors({
  link_refused: [
    403,
    'This link is wrong or too old. Load the page that showed it again, or ask for it once more.',
  ],
  not_found: [404, 'There is no such file any more.'],
  file_away: [
    503,
    'The file is not stored here. It may be at a service that does not answer now. Try again in a moment.',
  ],
});

const signed = z.object({
  expires: z.coerce.number().int().default(0),
  signature: z.string().max(100).default(''),
});

/** Files that browsers show themselves. Everything else is downloaded, so that nothing of it runs as our page. */
const shown = /^(?:image\/(?:png|jpeg|gif|webp|svg\+xml)|audio\/[a-z0-9]+)$/;

/** Files for whoever has a signed link; nothing else about the caller counts. */
export function mountFileLinks<Caller>(app: Hono<AppEnv<Caller>>, open: OpenLink): void {
  app.get(
    '/files/:id',
    describeRoute({
      summary: 'The content of a file, for whoever has a link to it',
      mediaType: 'application/octet-stream',
      errors: [link_refused, not_found, file_away],
    }),
    validate('query', signed),
    async (context) => {
      const found = await open(context.req.param('id'), context.req.valid('query'));
      if (found === 'refused') throw link_refused();
      if (found === undefined) throw not_found();
      if (found === 'away') throw file_away({ headers: { 'retry-after': '10' } });
      return context.body(new Uint8Array(found.bytes), 200, headersOf(found));
    },
  );
}

/** Whatever a file holds, a browser that opens it runs nothing of it and loads nothing for it. */
function headersOf({ name, mediaType, bytes }: LinkedFile): Record<string, string> {
  const isShown = shown.test(mediaType);
  const ascii = name.replace(/[^\x20-\x7e]|["\\]/g, '_');
  const disposition = isShown ? 'inline' : 'attachment';
  return {
    'content-type': isShown ? mediaType : 'application/octet-stream',
    'content-length': String(bytes.byteLength),
    'content-disposition': `${disposition}; filename="${ascii}"; filename*=UTF-8''${encodeURIComponent(name)}`,
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
    'x-content-type-options': 'nosniff',
    'cache-control': 'private, max-age=3600',
    'cross-origin-resource-policy': 'cross-origin',
  };
}
