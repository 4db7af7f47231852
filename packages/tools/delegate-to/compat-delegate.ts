import { createGuardedFetch, type GuardedResponse, HttpError } from '@trunkline/http';
import { z } from 'zod';
import { type Delegate, DelegateError } from './delegate-to.ts';

export interface CompatDelegateOptions {
  name: string;
  description: string;
  /** Base address of an OpenAI-compatible endpoint, as a rule one that ends in /v1. */
  url: string;
  model: string;
  apiKey?: string;
  /** Said to the model before the query. */
  instructions?: string;
  timeoutMs?: number | undefined;
  /** Cap of one answer. */
  maxTokens?: number;
  temperature?: number;
}

const completion = z.object({
  choices: z.array(z.object({ message: z.object({ content: z.string().nullish() }) })).min(1),
});

/** A delegate behind an OpenAI-compatible endpoint. Its address is the operator's, so it may be private. */
export function createCompatDelegate(options: CompatDelegateOptions): Delegate {
  const { name, description, timeoutMs } = options;
  const address = new URL(`${options.url.replace(/\/+$/, '')}/chat/completions`);
  const fetch = createGuardedFetch({
    allowedHosts: [address.hostname],
    timeoutMs: 3_600_000,
    maxRedirects: 0,
  });
  return {
    name,
    description,
    timeoutMs,
    async ask(query, { signal, idempotencyKey }) {
      try {
        const request = requestFor(options, query, idempotencyKey);
        return answerOf(name, await fetch(address, { ...request, signal }));
      } catch (error) {
        if (signal.aborted || !(error instanceof HttpError)) throw error;
        throw new DelegateError('delegate_unreachable', `${name} cannot be reached right now.`, {
          cause: error,
        });
      }
    },
  };
}

function requestFor(
  { apiKey, model, instructions, maxTokens, temperature }: CompatDelegateOptions,
  query: string,
  idempotencyKey: string | undefined,
) {
  const system = instructions === undefined ? [] : [{ role: 'system', content: instructions }];
  return {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
      // Endpoints that know it do not do the same work twice.
      ...(idempotencyKey && { 'idempotency-key': idempotencyKey }),
    },
    body: JSON.stringify({
      model,
      messages: [...system, { role: 'user', content: query }],
      max_tokens: maxTokens,
      temperature,
    }),
  };
}

function answerOf(name: string, response: GuardedResponse): string {
  if (response.status === 401 || response.status === 403)
    throw new DelegateError('delegate_refused', `${name} refuses the key it was given.`);
  if (response.status === 429)
    throw new DelegateError('delegate_refused', `${name} is busy. Try again in a while.`);
  if (response.status !== 200) throw new DelegateError('delegate_failed', `${name} failed to answer.`);
  const content = contentOf(response.text());
  if (content === undefined)
    throw new DelegateError('delegate_failed', `${name} gave an answer that cannot be read.`);
  return content;
}

function contentOf(text: string): string | undefined {
  try {
    const parsed = completion.safeParse(JSON.parse(text));
    return parsed.success ? (parsed.data.choices[0]?.message.content ?? '') : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
