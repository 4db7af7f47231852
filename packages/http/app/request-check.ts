import type { RequestContext } from './context.ts';

/** Looks at a request before any route does: throws to refuse it, answers it, or lets it pass. */
export type RequestCheck = (context: RequestContext) => Response | undefined;

/** The answer of the first check that has one. */
export function runChecks(checks: readonly RequestCheck[], context: RequestContext): Response | undefined {
  for (const check of checks) {
    const answer = check(context);
    if (answer !== undefined) return answer;
  }
  return undefined;
}
