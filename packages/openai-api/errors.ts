import { defineErrors, type HttpError, ValidationError } from '@trunkline/http';

/** Failures of `/v1`. The codes of 400, 429 and 502 are the types that OpenAI's clients read. */
export const openAiErrors = defineErrors({
  invalid_request_error: [400, ({ message }: { message: string }) => message],
  previous_response_not_found: [400, ({ message }: { message: string }) => message],
  model_not_found: [404, ({ message }: { message: string }) => message],
  rate_limit_error: [429, ({ message }: { message: string }) => message],
  insufficient_quota: [429, ({ message }: { message: string }) => message],
  upstream_error: [502, ({ message }: { message: string }) => message],
});

type ErrorFacts = Pick<HttpError, 'message' | 'code' | 'status'> & { details?: unknown };

const types: Record<number, string> = {
  401: 'authentication_error',
  403: 'permission_error',
  429: 'rate_limit_error',
  502: 'upstream_error',
};

/** The body in which OpenAI's clients expect an error. */
export function openAiErrorBody(error: ErrorFacts) {
  const { message, code, status } = error;
  const type = types[status] ?? (status < 500 ? 'invalid_request_error' : 'server_error');
  return { error: { message, type, param: paramOf(error), code } };
}

/** The field of the request that is to blame. */
function paramOf(error: ErrorFacts): string | null {
  if (error instanceof ValidationError) return error.issues[0]?.loc.slice(1).join('.') || null;
  const { details } = error;
  const isNamed = typeof details === 'object' && details !== null && 'param' in details;
  return isNamed && typeof details.param === 'string' ? details.param : null;
}
