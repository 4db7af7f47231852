import type { Dialect } from '../dialects/dialect.ts';
import type { A2aError } from '../errors/a2a-error.ts';
import { errorDetails } from '../errors/error-details.ts';

/** 1.0 has the error form of Google's APIs; 0.3 the bare code of its JSON-RPC. */
export function restError(error: A2aError, dialect: Dialect): Response {
  const { code, status, statusName } = error.binding;
  const { message } = error;
  const body =
    dialect.version === '1.0'
      ? { error: { code: status, status: statusName, message, details: errorDetails(error) } }
      : { code, message };
  return Response.json(body, { status, headers: error.headers });
}
