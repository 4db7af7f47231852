import { type Accounts, principalOf } from '@trunkline/accounts';
import { type AppEnv, defineErrors, describeRoute, plainPage, type SignInProvider } from '@trunkline/http';
import { accountIdOf, isDirectAccount, type OperatorAccess } from '@trunkline/identity';
import type { Context, Hono, MiddlewareHandler } from 'hono';
import { z } from 'zod';
import { type Grants, isAllowedRedirect, isSameRedirect, type OAuthClient } from './mcp-grants.ts';

export interface McpAuthorizationRoutes {
  grants: Grants;
  accounts: Pick<Accounts, 'get'>;
  operator: OperatorAccess;
  /** A2A_PUBLIC_URL; without it the address of the request is ours. */
  publicUrl: string | undefined;
  /** As the page calls the agent. */
  agentName: string;
  homePath: string;
  /** Where people may sign in beside keys. */
  provider: SignInProvider | undefined;
}

const AUTHORIZE = '/oauth/authorize';
const TOKEN = '/oauth/token';
const REVOKE = '/oauth/revoke';
const REGISTER = '/oauth/register';
const METADATA = '/.well-known/oauth-protected-resource';

/** OAuth sends forms to these. */
export const oauthForms = [AUTHORIZE, TOKEN, REVOKE];

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
  const { grants, accounts, operator } = routes;
  return async (context, next) => {
    const [, token] = /^bearer +(\S+) *$/i.exec(context.req.header('authorization') ?? '') ?? [];
    const challenge = (error = '') => ({
      headers: {
        'www-authenticate': `Bearer ${error}resource_metadata="${originOf(context, routes)}${METADATA}/mcp"`,
      },
    });
    if (token !== undefined && grants.isAccessToken(token)) {
      const account = accounts.get(grants.accountOf(token) ?? '');
      if (account === undefined) throw errors.mcp_token(challenge('error="invalid_token", '));
      context.set('principal', principalOf(account));
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
  const { grants } = routes;
  const resource = describeRoute({ summary: 'Where MCP clients get tokens for /mcp (RFC 9728)' });
  const describeResource = (context: Context<AppEnv>) => {
    const origin = originOf(context, routes);
    return context.json({
      resource: `${origin}/mcp`,
      resource_name: routes.agentName,
      authorization_servers: [origin],
      bearer_methods_supported: ['header'],
    });
  };
  app.get(METADATA, resource, describeResource);
  app.get(`${METADATA}/mcp`, resource, describeResource);
  app.get(
    '/.well-known/oauth-authorization-server',
    describeRoute({ summary: 'How MCP clients get tokens (RFC 8414)' }),
    (context) => {
      const origin = originOf(context, routes);
      return context.json({
        issuer: origin,
        authorization_endpoint: origin + AUTHORIZE,
        token_endpoint: origin + TOKEN,
        registration_endpoint: origin + REGISTER,
        revocation_endpoint: origin + REVOKE,
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
        client_id: grants.register({ name, redirects }),
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
    describeRoute({ summary: 'Ask a person whether an MCP client may use the agent', ...page }),
    (context) =>
      answer(context, context.req.query(), routes, (request, account) =>
        askPerson(context, request, account, routes),
      ),
  );
  app.post(
    AUTHORIZE,
    describeRoute({ summary: 'What the person answered', status: 303 }),
    async (context) => {
      const form = await formOf(context);
      return answer(context, form, routes, (request, account) =>
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
      if (grants.client(clientId) === undefined)
        return refuse(context, 'invalid_client', 'client_id is not of a client that registered here.');
      const {
        code = '',
        redirect_uri: redirect,
        code_verifier: verifier = '',
        refresh_token: refresh = '',
      } = form;
      const tokens =
        type === 'refresh_token'
          ? grants.refresh(refresh, clientId)
          : grants.redeem(code, { clientId, redirect, verifier });
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
      grants.revoke(token);
      return context.json({}, 200, noStore);
    },
  );
}

const noStore = { 'cache-control': 'no-store' };

const registration = z.object({
  client_name: z.string().trim().min(1).max(100).default('A program without a name'),
  redirect_uris: z.array(z.string().max(500)).min(1).max(5),
});

const authorizationRequest = z.object({
  response_type: z.literal('code'),
  code_challenge: z.string().regex(/^[\w-]{43}$/, 'is not the SHA-256 of a verifier'),
  code_challenge_method: z.literal('S256'),
  resource: z.string().max(2000).optional(),
});

interface AuthorizationRequest {
  clientId: string;
  client: OAuthClient;
  redirect: string;
  challenge: string;
  /** To send with the form of the page. */
  fields: Record<string, string>;
  /** Where the browser goes with an answer. */
  back(answer: Record<string, string>): string;
}

const fieldNames = [
  'client_id',
  'redirect_uri',
  'response_type',
  'code_challenge',
  'code_challenge_method',
  'state',
  'resource',
];

/**
 * Checks which program asks, and who is at the browser, before that is sent anywhere: anybody can register a program, and a
 * link to here must lead no stranger on. Other mistakes are the client's to read.
 */
async function answer(
  context: Context<AppEnv>,
  given: Record<string, string>,
  routes: McpAuthorizationRoutes,
  handle: (request: AuthorizationRequest, account: Person) => Response,
): Promise<Response> {
  const { client_id: clientId = '', redirect_uri: named, state } = given;
  const client = routes.grants.client(clientId);
  const redirect = named ?? (client?.redirects.length === 1 ? client.redirects[0] : undefined);
  if (
    client === undefined ||
    redirect === undefined ||
    !client.redirects.some((each) => isSameRedirect(each, redirect))
  )
    return problem(context, routes, 400, [
      'The program that sent you here is not known to this agent, or names an address that it did not register.',
      'Remove the agent from the program and add it again, so that it registers anew.',
    ]);
  const fields = Object.fromEntries(
    fieldNames.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]])),
  );
  const account = accountOf(context, routes, fields);
  if (account instanceof Response) return account;
  const origin = originOf(context, routes);
  const back = (values: Record<string, string>) => {
    const url = new URL(redirect);
    for (const [name, value] of Object.entries({
      ...values,
      ...(state !== undefined && { state }),
      iss: origin,
    }))
      url.searchParams.set(name, value);
    return url.href;
  };
  const parsed = authorizationRequest.safeParse(given);
  if (!parsed.success)
    return context.redirect(
      back({ error: 'invalid_request', error_description: z.prettifyError(parsed.error) }),
      303,
    );
  const { resource = `${origin}/mcp`, code_challenge: challenge } = parsed.data;
  if (resource.replace(/\/$/, '') !== `${origin}/mcp`)
    return context.redirect(
      back({ error: 'invalid_target', error_description: `Only ${origin}/mcp is here.` }),
      303,
    );
  return handle({ clientId, client, redirect, challenge, fields, back }, account);
}

function askPerson(
  context: Context<AppEnv>,
  { client: { name }, redirect, fields }: AuthorizationRequest,
  account: Person,
  { agentName }: McpAuthorizationRoutes,
): Response {
  const { protocol, host } = new URL(redirect);
  return plainPage(context, {
    title: `Allow ${name}`,
    heading: `Allow ${name} to use ${agentName}?`,
    paragraphs: [
      `It will act as ${account.name}: give tasks to the agent, use its tools as far as the policy allows, and read your notes and memories.`,
      `It returns to ${host === '' ? `an app on this device (${protocol})` : host}. Any program can choose the name that stands here, so allow it only if you have just begun to connect it. Refusing also ends what you allowed it before.`,
    ],
    form: {
      action: AUTHORIZE,
      fields,
      buttons: [
        { value: 'allow', text: 'Allow' },
        { value: 'refuse', text: 'Refuse' },
      ],
      leadsTo: protocol,
    },
    status: 200,
  });
}

function decide(
  context: Context<AppEnv>,
  { clientId, client: { name }, redirect, challenge, back }: AuthorizationRequest,
  decision: string | undefined,
  account: Person,
  { grants }: McpAuthorizationRoutes,
): Response {
  context.set('change', `${decision === 'allow' ? 'allowed' : 'refused'} the program ${name}`);
  if (decision !== 'allow') {
    grants.withdraw({ account: account.id, clientId });
    return context.redirect(back({ error: 'access_denied' }), 303);
  }
  const code = grants.createCode({ account: account.id, clientId, redirect, challenge });
  context.get('logger').info({ account: account.id, client: name }, 'MCP client authorized');
  return context.redirect(back({ code }), 303);
}

interface Person {
  id: string;
  name: string;
}

/** The account that the browser is signed in with, or the page that asks for it and leads back to the request. */
function accountOf(
  context: Context<AppEnv>,
  routes: McpAuthorizationRoutes,
  fields: Record<string, string>,
): Person | Response {
  const here = `${AUTHORIZE}?${new URLSearchParams(fields)}`;
  const principal = context.get('principal');
  const account = isDirectAccount(principal) ? routes.accounts.get(accountIdOf(principal) ?? '') : undefined;
  if (account === undefined) {
    const words =
      principal.kind === 'operator'
        ? "You are signed in with the operator's key, which is no account. Create an account on the page Trust, and sign in with its key."
        : 'Sign in with your account in this browser, then continue.';
    return problem(context, routes, 403, [words], here);
  }
  if (account.role === 'guest')
    return problem(
      context,
      routes,
      403,
      ['Guests cannot connect programs. Ask the operator to make you a member.'],
      here,
    );
  return account;
}

function problem(
  context: Context<AppEnv>,
  { homePath, provider }: McpAuthorizationRoutes,
  status: number,
  paragraphs: string[],
  here = AUTHORIZE,
): Response {
  const login = provider && `${provider.loginPath}?return=${encodeURIComponent(here)}`;
  return plainPage(context, {
    title: 'Not connected',
    heading: 'The program is not connected',
    paragraphs,
    links: [
      ...(provider && login && status === 403
        ? [{ href: login, text: `Sign in with ${provider.name}` }]
        : []),
      { href: homePath, text: 'Open the page of the agent' },
      // A browser that comes from another site sends its session only from here on.
      ...(status === 403 ? [{ href: here, text: 'Continue' }] : []),
    ],
    status,
  });
}

function originOf({ req }: Context<AppEnv>, { publicUrl }: McpAuthorizationRoutes): string {
  return new URL(publicUrl ?? `http://${req.header('host')}`).origin;
}

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
