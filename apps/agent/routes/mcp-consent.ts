import { type AppEnv, plainPage } from '@trunkline/http';
import { accountIdOf, isDirectAccount } from '@trunkline/identity';
import type { Context } from 'hono';
import { z } from 'zod';
import {
  audienceOf,
  baseOf,
  isSameRedirect,
  type McpAuthorizationRoutes,
  type RegisteredProgram,
} from './mcp-programs.ts';

export const AUTHORIZE = '/oauth/authorize';

const authorizationRequest = z.object({
  response_type: z.literal('code'),
  code_challenge: z.string().regex(/^[\w-]{43}$/, 'is not the SHA-256 of a verifier'),
  code_challenge_method: z.literal('S256'),
  resource: z.string().max(2000).optional(),
});

interface AuthorizationRequest {
  clientId: string;
  client: RegisteredProgram;
  redirect: string;
  challenge: string;
  /** To send with the form of the page. */
  fields: Record<string, string>;
  /** Where the browser goes with an answer. */
  back(answer: Record<string, string>): string;
}

/** All that a program may send; the page sends it on with its form. */
export const authorizationQuery = z.object({
  client_id: z.string(),
  redirect_uri: z.string().optional(),
  ...authorizationRequest.shape,
  state: z.string().optional(),
});

/**
 * Checks which program asks, and who is at the browser, before that is sent anywhere: anybody can register a program, and a
 * link to here must lead no stranger on. Other mistakes are the client's to read.
 */
export async function answerAuthorization(
  context: Context<AppEnv>,
  given: Record<string, string>,
  routes: McpAuthorizationRoutes,
  handle: (request: AuthorizationRequest, account: Person) => Response,
): Promise<Response> {
  const { client_id: clientId = '', redirect_uri: named, state } = given;
  const client = routes.registrations.find(clientId);
  const redirect = named ?? (client?.redirects.length === 1 ? client.redirects[0] : undefined);
  if (
    client === undefined ||
    redirect === undefined ||
    !client.redirects.some((each) => isSameRedirect(each, redirect))
  )
    return problem(context, routes, {
      ...notConnected,
      status: 400,
      paragraphs: [
        'The program that sent you here is not known to this agent, or names an address that it did not register.',
        'Remove the agent from the program and add it again, so that it registers anew.',
      ],
      here: AUTHORIZE,
    });
  const names = Object.keys(authorizationQuery.shape);
  const fields = Object.fromEntries(
    names.flatMap((name) => (given[name] === undefined ? [] : [[name, given[name]]])),
  );
  const account = accountOf(context, routes, `${AUTHORIZE}?${new URLSearchParams(fields)}`);
  if (account instanceof Response) return account;
  const base = baseOf(context, routes);
  const back = (values: Record<string, string>) => {
    const url = new URL(redirect);
    for (const [name, value] of Object.entries({
      ...values,
      ...(state !== undefined && { state }),
      iss: base,
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
  const { resource = `${base}/mcp`, code_challenge: challenge } = parsed.data;
  if (resource.replace(/\/$/, '') !== `${base}/mcp`)
    return context.redirect(
      back({ error: 'invalid_target', error_description: `Only ${base}/mcp is here.` }),
      303,
    );
  return handle({ clientId, client, redirect, challenge, fields, back }, account);
}

export function askPerson(
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
      // Relative: a proxy may have put a path before it.
      action: 'authorize',
      fields,
      buttons: [
        { value: 'allow', text: 'Allow' },
        { value: 'refuse', text: 'Refuse' },
      ],
      leadsTo: protocol,
    },
    links: [{ href: 'programs', text: 'Programs that act for you' }],
    status: 200,
  });
}

export function decide(
  context: Context<AppEnv>,
  { clientId, client: { name }, redirect, challenge, back }: AuthorizationRequest,
  decision: string | undefined,
  account: Person,
  routes: McpAuthorizationRoutes,
): Response {
  const { programs } = routes.accounts;
  context.set('change', `${decision === 'allow' ? 'allowed' : 'refused'} the program ${name}`);
  if (decision !== 'allow') {
    programs.withdraw({ account: account.id, clientId });
    return context.redirect(back({ error: 'access_denied' }), 303);
  }
  const agent = audienceOf(routes);
  const code = programs.createCode({ account: account.id, clientId, name, agent, redirect, challenge });
  context.get('logger').info({ account: account.id, client: name }, 'MCP client authorized');
  return context.redirect(back({ code }), 303);
}

interface Person {
  id: string;
  name: string;
}

/** The account that the browser is signed in with, or the page that asks for it and leads back to the request. */
export function accountOf(
  context: Context<AppEnv>,
  routes: McpAuthorizationRoutes,
  here: string,
  words: Pick<Problem, 'title' | 'heading'> = notConnected,
): Person | Response {
  const principal = context.get('principal');
  const account = isDirectAccount(principal) ? routes.accounts.get(accountIdOf(principal) ?? '') : undefined;
  if (account === undefined) {
    const advice =
      principal.kind === 'operator'
        ? "You are signed in with the operator's key, which is no account. Create an account on the page Trust, and sign in with its key."
        : 'Sign in with your account in this browser, then continue.';
    return problem(context, routes, { ...words, status: 403, paragraphs: [advice], here });
  }
  if (account.role === 'guest')
    return problem(context, routes, {
      ...words,
      status: 403,
      paragraphs: ['Guests cannot connect programs. Ask the operator to make you a member.'],
      here,
    });
  return account;
}

interface Problem {
  title: string;
  heading: string;
  status: number;
  paragraphs: string[];
  /** Where the browser goes on after a sign-in. */
  here: string;
}

const notConnected = { title: 'Not connected', heading: 'The program is not connected' };

function problem(
  context: Context<AppEnv>,
  { homePath, provider }: McpAuthorizationRoutes,
  { title, heading, status, paragraphs, here }: Problem,
): Response {
  const login = provider && `${provider.loginPath}?return=${encodeURIComponent(here)}`;
  return plainPage(context, {
    title,
    heading,
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
