import type { MiddlewareHandler } from 'hono';
import { uniqueSymbol } from 'hono-openapi';

export interface GuardMark {
  credentials: readonly string[];
  except: readonly string[];
}

/** The field that carries guards through the generator to the document. */
export const GUARDS_FIELD = 'x-guards';

/** Lets the API description know that a middleware asks for a key. */
export function markGuard<Handler extends MiddlewareHandler>(handler: Handler, mark: GuardMark): Handler {
  return Object.assign(handler, { [uniqueSymbol]: { spec: { [GUARDS_FIELD]: [mark] } } });
}
