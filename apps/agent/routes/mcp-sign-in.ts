import { type AppEnv, defineErrors, describeRoute } from '@trunkline/http';
import type { McpClients } from '@trunkline/mcp';
import { errorMessage } from '@trunkline/std';
import type { Hono } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { z } from 'zod';
import { consoleErrors } from './console/errors.ts';

/** Where a browser comes back to after it has signed in to an MCP server. */
export const signInCallback = '/oauth/mcp/callback';

const errors = defineErrors({
  mcp_sign_in_failed: [
    502,
    ({ name, reason }: { name: string; reason: string }) =>
      `Signing in to ${name} failed: ${reason} Try again on the page Connections, or set a key under headers of the server.`,
  ],
  mcp_sign_in_expired: [
    403,
    'This sign-in was not begun in this browser, was used already, or took longer than ten minutes. Begin again on the page Connections.',
  ],
});

const COOKIE = 'mcp-sign-in';
const MAX_AGE_S = 600;

export interface McpSignInRoutes {
  mcp: McpClients;
}

/** The operator signs in to MCP servers in the browser, by OAuth 2.1. */
export function mountMcpSignIn(app: Hono<AppEnv>, { mcp }: McpSignInRoutes): void {
  const begin = describeRoute({
    summary: 'Begin a sign-in to an MCP server; a browser goes on at the address in the answer',
    errors: [errors.mcp_sign_in_failed, consoleErrors.not_found],
  });
  app.post('/api/mcp/servers/:name/sign-in', begin, async (context) => {
    const name = context.req.param('name');
    if (mcp.get(name) === undefined) throw consoleErrors.not_found({ what: `MCP server ${name}` });
    const url = await mcp.beginSignIn(name, context.req.raw.signal).catch((cause: unknown) => {
      throw errors.mcp_sign_in_failed({ name, reason: sentence(cause) }, { cause });
    });
    const state = url === undefined ? undefined : new URL(url).searchParams.get('state');
    if (state)
      setCookie(context, COOKIE, state, {
        httpOnly: true,
        sameSite: 'Lax',
        path: signInCallback,
        maxAge: MAX_AGE_S,
      });
    return context.json({ url: url ?? null });
  });

  const end = describeRoute({
    summary: 'Sign out of an MCP server: its tokens are deleted',
    errors: [consoleErrors.not_found],
  });
  app.delete('/api/mcp/servers/:name/sign-in', end, async (context) => {
    const name = context.req.param('name');
    const client = mcp.get(name);
    if (client === undefined) throw consoleErrors.not_found({ what: `MCP server ${name}` });
    await client.signOut();
    return context.json({ signed_out: name });
  });

  const back = describeRoute({
    summary: 'Where an MCP server sends the browser back to after a sign-in',
    query: z.object({
      state: z.string(),
      code: z.string().optional(),
      error: z.string().optional(),
      error_description: z.string().optional(),
    }),
    mediaType: 'text/html',
    status: 303,
    errors: [errors.mcp_sign_in_expired, errors.mcp_sign_in_failed],
  });
  app.get(signInCallback, back, async (context) => {
    const { state = '', code, error, error_description: detail } = context.req.query();
    const begun = getCookie(context, COOKIE);
    deleteCookie(context, COOKIE, { path: signInCallback });
    if (state === '' || begun !== state) throw errors.mcp_sign_in_expired();
    if (code === undefined) {
      const reason = `it answered ${(detail ?? error ?? 'without a code').slice(0, 200)}.`;
      throw errors.mcp_sign_in_failed({ name: 'the server', reason });
    }
    const name = await mcp.finishSignIn(state, code, context.req.raw.signal).catch((cause: unknown) => {
      throw errors.mcp_sign_in_failed({ name: 'the server', reason: sentence(cause) }, { cause });
    });
    if (name === undefined) throw errors.mcp_sign_in_expired();
    return context.redirect('/app#/connections', 303);
  });
}

function sentence(cause: unknown): string {
  const words = errorMessage(cause).slice(0, 500);
  return /[.!?]$/.test(words) ? words : `${words}.`;
}
