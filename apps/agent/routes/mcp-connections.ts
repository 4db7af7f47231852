import type { ConnectedProgram } from '@trunkline/accounts';
import { type AppEnv, describeRoute, plainPage } from '@trunkline/http';
import { isDirectAccount, isDirectOperator } from '@trunkline/identity';
import type { Context, Hono } from 'hono';
import { accountOf } from './mcp-consent.ts';
import type { McpAuthorizationRoutes } from './mcp-programs.ts';

export const PROGRAMS = '/oauth/programs';

const heading = 'Programs that act for you';
const problem = { title: 'Programs', heading: 'Sign in to see your programs' };

/** The page on which people see the programs that they have let act for them, and end them. */
export function mountMcpConnections(app: Hono<AppEnv>, routes: McpAuthorizationRoutes): void {
  const { programs } = routes.accounts;
  app.get(
    PROGRAMS,
    describeRoute({ summary: 'The programs that a person has connected', mediaType: 'text/html' }),
    (context) => {
      if (isOperatorKey(context)) return show(context, [], routes);
      const account = accountOf(context, routes, PROGRAMS, problem);
      return account instanceof Response ? account : show(context, programs.list(account.id), routes);
    },
  );
  app.post(PROGRAMS, describeRoute({ summary: 'Disconnect one of them', status: 303 }), async (context) => {
    if (isOperatorKey(context)) return context.redirect('programs', 303);
    const account = accountOf(context, routes, PROGRAMS, problem);
    if (account instanceof Response) return account;
    const { decision } = await context.req.parseBody().catch(() => ({ decision: undefined }));
    // One that is gone already, as after a second click, shows in the list.
    const program = programs.list(account.id).find(({ programId }) => programId === decision);
    if (program !== undefined) {
      context.set('change', `disconnected the program ${program.name}`);
      programs.disconnect(program.programId);
    }
    return context.redirect('programs', 303);
  });
}

const KEY_WORDS =
  "You are signed in with the operator's key, which is no account, so no program acts for you. The page Trust, People, lists the programs of everybody.";

function isOperatorKey(context: Context<AppEnv>): boolean {
  const principal = context.get('principal');
  return isDirectOperator(principal) && !isDirectAccount(principal);
}

function show(
  context: Context<AppEnv>,
  programs: readonly ConnectedProgram[],
  { homePath }: McpAuthorizationRoutes,
): Response {
  const described = programs.map(
    ({ name, agent, createdAt, lastUsedAt }) =>
      `${name}: uses ${agent}, connected on ${dayOf(createdAt)}, ${lastUsedAt === undefined ? 'never used' : `last used on ${dayOf(lastUsedAt)}`}.`,
  );
  return plainPage(context, {
    title: heading,
    heading,
    paragraphs:
      programs.length === 0
        ? [isOperatorKey(context) ? KEY_WORDS : 'You have connected no program.']
        : [
            ...described,
            'A program chooses its name itself. One that you disconnect loses access at once, and asks you again if it is to come back.',
          ],
    ...(programs.length > 0 && {
      form: {
        action: 'programs',
        fields: {},
        buttons: programs.map(({ programId, name }) => ({ value: programId, text: `Disconnect ${name}` })),
        leadsTo: '',
      },
    }),
    links: [{ href: homePath, text: 'Open the page of the agent' }],
    status: 200,
  });
}

function dayOf(time: number): string {
  return `${new Date(time).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
