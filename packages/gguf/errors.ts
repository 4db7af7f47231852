import { defineErrors } from '@trunkline/http';
import { openAiErrors } from '@trunkline/openai-api';

const { invalid_request_error, rate_limit_error } = openAiErrors;

/** Failures of the door to the model. The words of 503 are those of llama.cpp's server, which clients wait for. */
export const modelErrors = {
  ...defineErrors({
    model_loading: [503, ({ percent }: { percent: number }) => `Loading model (${percent} %)`],
    model_failed: [500, ({ message }: { message: string }) => message],
    refused_500: [500, ({ message }: { message: string }) => `The model failed: ${message}`],
  }),
  refused_400: invalid_request_error,
  refused_429: rate_limit_error,
};
