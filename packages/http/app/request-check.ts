import type { Context } from 'hono';
import type { AppEnv } from './context.ts';

/** Looks at a request before any route does: throws to refuse it, answers it, or lets it pass. */
export type RequestCheck = (context: Context<AppEnv>) => Response | undefined;

/** The answer of the first check that has one. */
export function runChecks(checks: readonly RequestCheck[], context: Context<AppEnv>): Response | undefined {
  for (const check of checks) {
    const answer = check(context);
    if (answer !== undefined) return answer;
  }
  return undefined;
}
