import type { Context, MiddlewareHandler } from 'hono';
import type { AppEnv } from '../app/context.ts';
import type { HttpError } from '../errors/http-error.ts';
import { httpErrors } from '../errors/http-errors.ts';

/** After a caller guard: lets a caller through by role or scope, or answers 403. */
export function allowCallers<Caller>(
  isAllowed: (caller: Caller) => boolean,
  refuse: () => HttpError = httpErrors.forbidden,
): MiddlewareHandler {
  return async (context: Context<AppEnv<Caller>>, next) => {
    if (!isAllowed(context.get('caller'))) throw refuse();
    return next();
  };
}
