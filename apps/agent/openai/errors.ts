import { defineErrors, type HttpError } from '@trunkline/http';

/** Failures of `/v1`; the code is the type that OpenAI's clients read. */
export const openAiErrors = defineErrors({
  invalid_request_error: [400, ({ words }: { words: string }) => words],
  rate_limit_error: [429, ({ words }: { words: string }) => words],
  upstream_error: [502, ({ words }: { words: string }) => words],
});

/** An error as OpenAI's clients expect it. */
export function openAiErrorBody(error: Pick<HttpError, 'message' | 'code' | 'status'>) {
  return { error: { message: error.message, type: typeOf(error), param: null, code: error.code } };
}

function typeOf({ code, status }: Pick<HttpError, 'code' | 'status'>): string {
  if (status === 401) return 'authentication_error';
  if (status === 403) return 'permission_error';
  if (status === 429) return 'rate_limit_error';
  if (code === 'upstream_error') return 'upstream_error';
  return status < 500 ? 'invalid_request_error' : 'server_error';
}
