import { z } from 'zod';
import type { Endpoint } from '../endpoint.ts';
import { fromDocument, fromStatus, type TranslationOptions } from '../error-translation.ts';
import { activityListener, type OnActivity } from '../limits.ts';
import { ModelError } from '../model-error.ts';
import { isErrorDocument, isWebPage, readErrorText, webPageWords } from './error-body.ts';
import { postJson, readErrorBody, type WireResponse } from './post.ts';
import { refusedParameter } from './refusals.ts';

export interface EmbeddingModel {
  readonly modelId: string;
  /** One vector for each text, in their order. Fails with a ModelError. */
  embed(values: readonly string[], signal: AbortSignal): Promise<Embeddings>;
}

interface Embeddings {
  embeddings: number[][];
  /** Tokens of the texts, where the endpoint counts them. */
  tokens: number | undefined;
}

interface EmbeddingModelOptions {
  endpoint: Endpoint;
  model: string;
  translation: TranslationOptions;
}

/** More than 128 vectors of 8,192 numbers take as text. */
const longestAnswer = 64 * 1024 * 1024;

const answerSchema = z.object({
  data: z.array(
    z.object({ embedding: z.array(z.number()), index: z.int().nonnegative().optional().catch(undefined) }),
  ),
  usage: z.object({ prompt_tokens: z.number().nonnegative().optional() }).nullish().catch(undefined),
});

/** An embedding model behind an OpenAI-style endpoint. */
export function createEmbeddingModel({
  endpoint,
  model,
  translation,
}: EmbeddingModelOptions): EmbeddingModel {
  const url = new URL(`${endpoint.baseUrl}/embeddings`);
  url.search = new URLSearchParams(endpoint.query).toString();
  /** Some clients' default is base64, some endpoints know no such parameter. */
  let encoding: { encoding_format?: 'float' } = { encoding_format: 'float' };

  async function open(input: readonly string[], signal: AbortSignal): Promise<WireResponse> {
    const body = { model, input, ...encoding };
    const response = await postJson(url, {
      headers: endpoint.headers,
      body: JSON.stringify(body),
      signal,
    });
    if (response.status < 300) return response;
    const said = readErrorText(await readErrorBody(response));
    if (refusedParameter(response.status, said, Object.keys(encoding)) === undefined)
      throw fromStatus(response.status, said, response.headers, translation);
    encoding = {};
    return await open(input, signal);
  }

  return {
    modelId: model,
    async embed(values, signal) {
      const onActivity = activityListener();
      const text = await readWhole(await open(values, signal), onActivity);
      return vectorsOf(text, values.length, translation);
    },
  };
}

async function readWhole(response: WireResponse, onActivity: OnActivity): Promise<string> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const piece of response.body) {
      onActivity();
      pieces.push(piece);
      length += piece.length;
      if (length > longestAnswer)
        throw new ModelError('answer-too-long', { detail: `more than ${longestAnswer} bytes of vectors` });
    }
  } catch (error) {
    response.close();
    throw error;
  }
  return new TextDecoder().decode(Buffer.concat(pieces));
}

function vectorsOf(text: string, count: number, translation: TranslationOptions): Embeddings {
  const document = parse(text);
  if (document === undefined) {
    const detail = isWebPage(text) ? webPageWords(text) : 'the vectors are no JSON';
    throw new ModelError('bad-answer', { detail });
  }
  const answer = answerSchema.safeParse(document).data;
  if (answer === undefined) {
    if (isErrorDocument(document)) throw fromDocument(document, translation);
    throw new ModelError('bad-answer', { detail: 'no vectors in data[].embedding' });
  }
  const embeddings: number[][] = [];
  for (const [place, { embedding, index }] of answer.data.entries()) embeddings[index ?? place] = embedding;
  if (embeddings.length !== count || Object.keys(embeddings).length !== count)
    throw new ModelError('bad-answer', { detail: 'a vector is missing' });
  return { embeddings, tokens: answer.usage?.prompt_tokens };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
