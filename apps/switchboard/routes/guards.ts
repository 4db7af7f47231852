import { type AppEnv, allowCallers, callerGuard } from '@trunkline/http';
import type { Hono, MiddlewareHandler } from 'hono';
import { type Caller, operator } from '../access/caller.ts';
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

export function mountGuards(app: Hono<SwitchboardEnv>, keys: Keys): void {
  const identify = callerGuard<Caller>({
    keyring: keys.keyring,
    openCaller: keys.openCaller,
    trustedCaller: ({ kind }) => (kind === 'operator' ? operator : undefined),
    principalOf: ({ name, admin }) => ({ kind: admin ? 'operator' : 'agent', id: `key:${name}`, via: [] }),
  });
  const admins = allowCallers<Caller>(({ admin }) => admin, switchboardErrors.admin_only);
  for (const path of guardedPaths) {
    app.use(path, identify, endWithKey(keys), (context, next) =>
      isScopedPath(context.req.path) ? next() : admins(context, next),
    );
  }
}

/** Cuts off what is still being answered when its key is revoked or changed: streams, and whoever waits for a person. */
function endWithKey(keys: Keys): MiddlewareHandler<SwitchboardEnv> {
  return (context, next) => {
    // The busiest route is answered at once.
    if (context.req.path === '/publish') return next();
    const { outgoing } = context.env;
    const forget = keys.onRevoked(context.get('caller'), () => outgoing.destroy());
    outgoing.once('close', forget);
    return next();
  };
}
