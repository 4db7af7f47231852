import { type AppEnv, callerCheck, callerGuard, type RequestContext } from '@trunkline/http';
import type { Hono } from 'hono';
import type { Caller } from '../access/caller.ts';
import type { Keys } from '../access/keys.ts';
import { switchboardErrors } from '../errors.ts';

export type SwitchboardEnv = AppEnv<Caller>;

/** Paths that a scoped key may use, within its patterns; everything else behind the guard is for admins. */
const scopedPaths: ReadonlySet<string> = new Set([
  '/publish',
  '/api/bus/stream',
  '/api/bus/history',
  '/api/agent/ask-human',
]);

/** A scoped key has schedules of its own, too. */
export function isScopedPath(path: string): boolean {
  return scopedPaths.has(path) || path === '/api/schedules' || path.startsWith('/api/schedules/');
}

/** The one place where keys are checked. What is not under these paths is public. */
const guardedPaths = [
  '/publish',
  '/api/*',
  '/v1/*',
  '/a2a',
  '/a2a/*',
  '/message:send',
  '/message:stream',
  '/tasks',
  '/tasks/*',
  '/extendedAgentCard',
];

/** Gives the caller of a request, or throws the refusal: for routes that are asked directly, past all middleware. */
export type Admit = (context: RequestContext) => Caller;

export function mountGuards(app: Hono<SwitchboardEnv>, keys: Keys): Admit {
  const options = { keyring: keys.keyring, openCaller: keys.openCaller };
  const [identify, callerOf] = [callerGuard(options), callerCheck(options)];
  const check = (caller: Caller, path: string) => {
    if (!caller.admin && !isScopedPath(path)) throw switchboardErrors.admin_only();
    return caller;
  };
  for (const path of guardedPaths) {
    app.use(path, identify, (context, next) => {
      check(context.get('caller'), context.req.path);
      return next();
    });
  }
  return (context) => check(callerOf(context), context.req.path);
}
