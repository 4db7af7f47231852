import { type AppEnv, originGuard } from '@trunkline/http';
import type { Context } from 'hono';

/** Throws the refusal when the origin of the request may not read streams. */
export type OriginCheck = (context: Context<AppEnv>) => Promise<void>;

/** Only some methods of `/a2a` answer with a stream, so the guard is asked from within. */
export function createOriginCheck(allowed: readonly string[]): OriginCheck {
  const guard = originGuard(allowed);
  return async (context) => {
    await guard(context, () => Promise.resolve());
  };
}
