import { type AppEnv, callerGuard, createKeyring, isLoopbackHost } from '@trunkline/http';
import { isDirectAccount, maySee, type OperatorAccess } from '@trunkline/identity';
import type { Context, Hono, MiddlewareHandler } from 'hono';
import { z } from 'zod';
import { researchErrors } from '../errors.ts';
import type { Job } from '../research/job.ts';
import type { JobStore } from '../store/jobs.ts';

/** What a list of past work can be asked for. */
export const listSchema = z.object({
  q: z.string().max(200).default(''),
  limit: z.coerce.number().int().min(1).max(200).default(50),
});

/** Asks for the token where one is set. The operator and people with an account need none. */
export function tokenGuard(token: string | undefined): MiddlewareHandler {
  return callerGuard({
    keyring: createKeyring([{ key: token, caller: 'operator' }]),
    // As A2A names whoever shows the same token: one caller, one owner.
    principalOf: () => ({ kind: 'agent', id: 'a2a', via: [] }),
    trustedCaller: (principal) =>
      principal.kind === 'operator' || isDirectAccount(principal) ? 'operator' : undefined,
    guestPaths: ['/api/chat', '/v1'],
    credentials: ['bearer'],
    openCaller: () => 'operator',
  });
}

/** Everything but `/healthz`, the page with its assets, shared reports, and A2A, which brings a guard of its own. */
export function mountGuards(app: Hono<AppEnv>, { guard, operator }: GuardDeps): void {
  // TRUNKLINE_OPEN makes everybody the operator.
  const asOperator: MiddlewareHandler<AppEnv> = (context, next) => {
    if (operator.isOpen && context.get('principal').kind === 'anonymous')
      context.set('principal', { kind: 'operator', id: 'operator', via: [] });
    return next();
  };
  for (const path of ['/api/*', '/v1/*', '/mcp']) app.use(path, guard, asOperator);
}

interface GuardDeps {
  guard: MiddlewareHandler;
  operator: Pick<OperatorAccess, 'isOpen'>;
}

/** Warns about a service that anyone on the network can use. */
export function exposureWarning(host: string, token: string | undefined): string | undefined {
  if (isLoopbackHost(host) || token !== undefined) return undefined;
  return `SECURITY: Research listens on ${host} and no RESEARCH_AUTH_TOKEN is set: anyone who reaches it can use it.`;
}

/** Finds the job of a request by its id, or answers 404, as for a job that the caller may not see. */
export function jobFinder(jobs: JobStore): (context: Context<AppEnv>) => Job {
  return (context) => {
    const job = jobs.get(context.req.param('id') ?? '');
    if (job === undefined || !maySee(context.get('principal'), job.owner))
      throw researchErrors.research_not_found();
    return job;
  };
}
