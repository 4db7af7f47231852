import type { HttpError } from '@trunkline/http';

const TYPES: Record<number, string> = {
  401: 'authentication_error',
  429: 'rate_limit_error',
  502: 'upstream_error',
};

/** An error as clients of OpenAI's API expect it. */
export function openAiErrorBody({ message, code, status }: Pick<HttpError, 'message' | 'code' | 'status'>) {
  const type = TYPES[status] ?? (status < 500 ? 'invalid_request_error' : 'server_error');
  return { error: { message, type, param: null, code } };
}
