import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
} from '@ai-sdk/provider';
import { type LimitOptions, startLimits } from './limits.ts';
import { type MeterOptions, startMeter } from './meter.ts';
import { ModelError } from './model-error.ts';
import { type RetryPolicy, tryInTurn } from './retry.ts';
import { continueStream } from './stream.ts';

export interface CallPolicy extends RetryPolicy, LimitOptions, MeterOptions {
  timeoutMs: number;
  firstTokenTimeoutMs: number;
}

/** One model made of several: retries, time limits and fall-back, and every call reported. */
export function createResilientModel(
  chain: readonly [LanguageModelV4, ...LanguageModelV4[]],
  policy: CallPolicy,
): LanguageModelV4 {
  const [primary] = chain;
  return {
    specificationVersion: 'v4',
    provider: primary.provider,
    modelId: primary.modelId,
    supportedUrls: primary.supportedUrls,
    doGenerate: (options) =>
      tryInTurn(chain, policy, options.abortSignal, (model) => generateOnce(model, options, policy)),
    doStream: (options) =>
      tryInTurn(chain, policy, options.abortSignal, (model) => streamOnce(model, options, policy)),
  };
}

async function generateOnce(
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions,
  policy: CallPolicy,
): Promise<LanguageModelV4GenerateResult> {
  const meter = startMeter(model.modelId, policy);
  const limits = startLimits(options.abortSignal, { totalMs: policy.timeoutMs }, policy);
  try {
    const result = await model.doGenerate({ ...options, abortSignal: limits.signal });
    meter.report({ finishReason: result.finishReason.unified, usage: result.usage });
    return result;
  } catch (error) {
    const failure = limits.explain(error);
    meter.report({ error: failure });
    throw failure;
  } finally {
    limits.end();
  }
}

/** Opens a stream and waits for its first token: until then a failure is thrown and may be retried. */
async function streamOnce(
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions,
  policy: CallPolicy,
): Promise<LanguageModelV4StreamResult> {
  const meter = startMeter(model.modelId, policy);
  const times = { totalMs: policy.timeoutMs, firstTokenMs: policy.firstTokenTimeoutMs };
  const limits = startLimits(options.abortSignal, times, policy);
  try {
    const result = await model.doStream({ ...options, abortSignal: limits.signal });
    refuseWebPage(result.response?.headers);
    const reader = result.stream.getReader();
    const opening = await readToFirstToken(reader);
    limits.firstTokenArrived();
    meter.firstToken();
    return { ...result, stream: continueStream(opening, reader, limits, meter) };
  } catch (error) {
    const failure = limits.explain(error);
    limits.abandon();
    meter.report({ error: failure });
    throw failure;
  }
}

/** A page of some other service would read as a stream that broke off. */
function refuseWebPage(headers: Record<string, string> = {}): void {
  const isPage = headers['content-type']?.startsWith('text/html');
  if (isPage) throw new ModelError('bad-answer', { detail: 'a web page came instead' });
}

const openingTypes = new Set([
  'stream-start',
  'response-metadata',
  'raw',
  'ping',
  'text-start',
  'reasoning-start',
]);

async function readToFirstToken(
  reader: ReadableStreamDefaultReader<LanguageModelV4StreamPart>,
): Promise<LanguageModelV4StreamPart[]> {
  const parts: LanguageModelV4StreamPart[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return parts;
    if (value.type === 'error') throw value.error;
    parts.push(value);
    if (!openingTypes.has(value.type)) return parts;
  }
}
