import { createHash } from 'node:crypto';
import type { AppEnv } from '@trunkline/http';
import type { Context, Hono, MiddlewareHandler } from 'hono';
import type { ProtocolVersion } from '../dialects/version.ts';
import { versionHeader } from '../http/headers.ts';

export interface CardRouteOptions {
  card(version: ProtocolVersion): object;
  /** The form for callers who name no version. */
  form: ProtocolVersion;
  /** Runs before the public paths; undefined where the card is for everyone. */
  guard: MiddlewareHandler | undefined;
}

/** Serves the card at both well-known paths; the older one gives the older form. */
export function mountCard(app: Hono<AppEnv>, options: CardRouteOptions): void {
  const paths: [path: string, form: ProtocolVersion][] = [
    ['/.well-known/agent-card.json', options.form],
    ['/.well-known/agent.json', '0.3'],
    ['/a2a', options.form],
  ];
  for (const [path, form] of paths) {
    if (options.guard !== undefined) app.get(path, options.guard);
    app.get(path, (context) => cardAnswer(context, options.card(wantedForm(context, form))));
  }
}

/** A version that we do not speak is no reason to hide the card, which says what we do speak. */
function wantedForm(context: Context, fallback: ProtocolVersion): ProtocolVersion {
  const version = (versionHeader(context) ?? '').trim();
  if (/^0\.3(\.|$)/.test(version)) return '0.3';
  return /^1(\.0)?(\.|$)/.test(version) ? '1.0' : fallback;
}

function cardAnswer(context: Context, card: object): Response {
  const body = JSON.stringify(card);
  const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 27)}"`;
  const headers = { 'cache-control': 'public, max-age=60', etag, vary: 'A2A-Version' };
  if (context.req.header('if-none-match') === etag) return new Response(null, { status: 304, headers });
  return new Response(body, { headers: { ...headers, 'content-type': 'application/json' } });
}
