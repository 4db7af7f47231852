import { principalOf } from '@trunkline/accounts';
import { type AppEnv, defineErrors, describeRoute } from '@trunkline/http';
import { visibleLine } from '@trunkline/tools';
import type { Context, Hono, MiddlewareHandler } from 'hono';
import { z } from 'zod';
import { PROGRAMS } from './mcp-connections.ts';
import { AUTHORIZE, answerAuthorization, askPerson, authorizationQuery, decide } from './mcp-consent.ts';
import { audienceOf, baseOf, isAllowedRedirect, type McpAuthorizationRoutes } from './mcp-programs.ts';

const TOKEN = '/oauth/token';
const REVOKE = '/oauth/revoke';
const REGISTER = '/oauth/register';
const METADATA = '/.well-known/oauth-protected-resource';

/** OAuth sends forms to these. */
export const oauthForms = [AUTHORIZE, TOKEN, REVOKE, PROGRAMS];

const errors = defineErrors({
  mcp_credentials: [
    401,
    ({ keyFile }: { keyFile: string }) =>
      `Sign in: a client that knows OAuth does so by itself. Others send the key of an account as "Authorization: Bearer", or the operator's key of ${keyFile} as "X-Operator-Key".`,
  ],
  mcp_token: [401, 'This token has expired, was revoked, or is not of this agent. Sign in again.'],
});

/** Before the guard of `/mcp`: knows people by the tokens of their clients, and tells others how to get one. */
export function identifyMcpClient(routes: McpAuthorizationRoutes): MiddlewareHandler<AppEnv> {
  const { accounts, operator } = routes;
  const { programs } = accounts;
  return async (context, next) => {
    const [, token] = /^bearer +(\S+) *$/i.exec(context.req.header('authorization') ?? '') ?? [];
    const challenge = (error = '') => ({
      headers: {
        'www-authenticate': `Bearer ${error}resource_metadata="${baseOf(context, routes)}${METADATA}/mcp"`,
      },
    });
    if (token !== undefined && programs.isAccessToken(token)) {
      const holder = programs.holderOf(token, audienceOf(routes));
      const account = accounts.get(holder?.account ?? '');
      if (holder === undefined || account === undefined)
        throw errors.mcp_token(challenge('error="invalid_token", '));
      context.set('principal', principalOf(account));
      const stands = context.get('stillStands');
      // By the program: its token may be renewed or expire while a call goes on that it let in.
      const isConnected = () => programs.accountOfProgram(holder.programId) === account.id;
      context.set('stillStands', () => isConnected() && stands());
    } else if (context.get('principal').kind === 'anonymous' && !operator.isOpen && !showsKey(context))
      throw errors.mcp_credentials({ keyFile: operator.keyFile }, challenge());
    return next();
  };
}

function showsKey({ req }: Context<AppEnv>): boolean {
  return ['authorization', 'x-api-key', 'x-operator-key'].some((name) => req.header(name) !== undefined);
}

/**
 * The authorization that the MCP specification asks for: OAuth 2.1 with PKCE for programs that register themselves. People
 * allow a program in a browser that is signed in with their account.
 */
export function mountMcpAuthorization(app: Hono<AppEnv>, routes: McpAuthorizationRoutes): void {
  const {
    registrations,
    accounts: { programs },
  } = routes;
  const resource = describeRoute({ summary: 'Where MCP clients get tokens for /mcp (RFC 9728)' });
  const describeResource = (context: Context<AppEnv>) => {
    const base = baseOf(context, routes);
    return context.json({
      resource: `${base}/mcp`,
      resource_name: routes.agentName,
      authorization_servers: [base],
      bearer_methods_supported: ['header'],
    });
  };
  app.get(METADATA, resource, describeResource);
  app.get(`${METADATA}/mcp`, resource, describeResource);
  app.get(
    '/.well-known/oauth-authorization-server',
    describeRoute({ summary: 'How MCP clients get tokens (RFC 8414)' }),
    (context) => {
      const base = baseOf(context, routes);
      return context.json({
        issuer: base,
        authorization_endpoint: base + AUTHORIZE,
        token_endpoint: base + TOKEN,
        registration_endpoint: base + REGISTER,
        revocation_endpoint: base + REVOKE,
        response_types_supported: ['code'],
        grant_types_supported: ['authorization_code', 'refresh_token'],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['none'],
        revocation_endpoint_auth_methods_supported: ['none'],
        authorization_response_iss_parameter_supported: true,
      });
    },
  );
  app.post(
    REGISTER,
    describeRoute({ summary: 'Register an MCP client (RFC 7591)', status: 201 }),
    async (context) => {
      const given = registration.safeParse(await context.req.json().catch(() => undefined));
      if (!given.success) return refuse(context, 'invalid_client_metadata', z.prettifyError(given.error));
      const { client_name: name, redirect_uris: redirects } = given.data;
      const bad = redirects.find((each) => !isAllowedRedirect(each));
      if (bad !== undefined)
        return refuse(
          context,
          'invalid_redirect_uri',
          `${bad} is neither https, nor this machine, nor an app.`,
        );
      const registered = {
        client_id: registrations.register({ name, redirects }),
        client_name: name,
        redirect_uris: redirects,
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
      };
      return context.json(registered, 201, noStore);
    },
  );
  const page = { mediaType: 'text/html' };
  app.get(
    AUTHORIZE,
    describeRoute({
      summary: 'Ask a person whether an MCP client may use the agent',
      query: authorizationQuery,
      ...page,
    }),
    (context) =>
      answerAuthorization(context, context.req.query(), routes, (request, account) =>
        askPerson(context, request, account, routes),
      ),
  );
  app.post(
    AUTHORIZE,
    describeRoute({ summary: 'What the person answered', status: 303 }),
    async (context) => {
      const form = await formOf(context);
      return answerAuthorization(context, form, routes, (request, account) =>
        decide(context, request, form.decision, account, routes),
      );
    },
  );
  app.post(
    TOKEN,
    describeRoute({ summary: 'Exchange a code or a refresh token for tokens' }),
    async (context) => {
      const form = await formOf(context);
      const { client_id: clientId = '', grant_type: type } = form;
      if (type !== 'authorization_code' && type !== 'refresh_token')
        return refuse(
          context,
          'unsupported_grant_type',
          'grant_type is authorization_code or refresh_token.',
        );
      if (registrations.find(clientId) === undefined)
        return refuse(context, 'invalid_client', 'client_id is not of a client that registered here.');
      const {
        code = '',
        redirect_uri: redirect,
        code_verifier: verifier = '',
        refresh_token: refresh = '',
      } = form;
      const tokens =
        type === 'refresh_token'
          ? programs.refresh(refresh, clientId)
          : programs.redeem(code, { clientId, redirect, verifier });
      if (tokens === undefined)
        return refuse(context, 'invalid_grant', 'It has expired, was used, or belongs to another client.');
      const { access, refresh: refresh_token, expiresInS } = tokens;
      const answered = { access_token: access, token_type: 'Bearer', expires_in: expiresInS, refresh_token };
      return context.json(answered, 200, noStore);
    },
  );
  app.post(
    REVOKE,
    describeRoute({ summary: 'Revoke a token of an MCP client (RFC 7009)' }),
    async (context) => {
      const { token } = await formOf(context);
      if (token === undefined) return refuse(context, 'invalid_request', 'Send a form with token.');
      programs.revoke(token);
      return context.json({}, 200, noStore);
    },
  );
}

const noStore = { 'cache-control': 'no-store' };

const registration = z.object({
  client_name: z
    .string()
    .max(1000)
    .default('')
    .transform(
      (given) => visibleLine(given.replace(/\s+/g, ' ').trim()).slice(0, 100) || 'A program without a name',
    ),
  redirect_uris: z.array(z.string().max(500)).min(1).max(20),
});

async function formOf({ req }: Context<AppEnv>): Promise<Record<string, string>> {
  const body = await req.parseBody().catch(() => ({}));
  return Object.fromEntries(
    Object.entries(body).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

/** In the words of RFC 6749, which clients read. */
function refuse(context: Context<AppEnv>, error: string, description: string): Response {
  return context.json({ error, error_description: description }, 400, noStore);
}
