import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
  LanguageModelV4Usage,
} from '@ai-sdk/provider';
import { type LimitOptions, type RunningLimits, startLimits } from './limits.ts';
import { type Meter, type MeterOptions, startMeter } from './meter.ts';
import { ModelError } from './model-error.ts';
import { profileOf } from './profiles/profile.ts';
import { type RetryPolicy, tryInTurn } from './retry.ts';
import { type Batches, batchesOf, streamOf } from './wire/batches.ts';

const firstTokenSetting = 'LLM_FIRST_TOKEN_TIMEOUT_S';

const noUsage: LanguageModelV4Usage = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};

export interface CallPolicy extends RetryPolicy, LimitOptions, MeterOptions {
  /** Limit of an answer that comes as a whole, whatever bytes come before it; the profile's limits when not given. */
  timeoutMs: number | undefined;
}

/** A whole answer gives no sign before its end, so it has at least this long. */
const shortestWholeMs = 300_000;

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
      tryInTurn(chain, policy, options.abortSignal, (model) =>
        attempt(
          model,
          policy,
          options.abortSignal,
          async (abortSignal) => model.doGenerate({ ...options, abortSignal }),
          ({ finishReason, usage }) => ({ finishReason: finishReason.unified, usage }),
          { asked: options, written: ({ content }) => content.map(writtenIn).join('') },
        ),
      ),
    doStream: (options) =>
      tryInTurn(chain, policy, options.abortSignal, (model) => streamOnce(model, options, policy)),
  };
}

/** Makes one attempt within its time limit and reports it to the meter. */
export async function attempt<Result>(
  model: { modelId: string },
  policy: CallPolicy,
  caller: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<Result>,
  reportOf: (result: Result) => Parameters<Meter['report']>[0],
  estimate?: { asked: LanguageModelV4CallOptions; written: (result: Result) => string },
): Promise<Result> {
  const meter = startMeter(model.modelId, policy, estimate?.asked);
  const { firstTokenMs, answerMs } = profileOf(model);
  const limits = startLimits(caller, policy, answerMs);
  limits.await({
    what: 'no complete answer',
    setting: firstTokenSetting,
    ...(policy.timeoutMs === undefined
      ? { milliseconds: Math.max(firstTokenMs, shortestWholeMs), extendedBy: 'every byte' }
      : { milliseconds: policy.timeoutMs, extendedBy: 'nothing' }),
  });
  try {
    const result = await limits.run(() => work(limits.signal));
    meter.wrote(estimate?.written(result) ?? '');
    meter.report(reportOf(result));
    return result;
  } catch (error) {
    const failure = limits.explain(error);
    meter.report({ error: failure });
    throw failure;
  } finally {
    limits.rest();
  }
}

/** Opens a stream and waits for its first token: until then a failure is thrown and may be retried. */
async function streamOnce(
  model: LanguageModelV4,
  options: LanguageModelV4CallOptions,
  policy: CallPolicy,
): Promise<LanguageModelV4StreamResult> {
  const meter = startMeter(model.modelId, policy, options);
  const { firstTokenMs, idleMs, answerMs } = profileOf(model);
  const limits = startLimits(options.abortSignal, policy, answerMs);
  try {
    limits.await({
      what: 'no first token',
      milliseconds: firstTokenMs,
      setting: firstTokenSetting,
      extendedBy: 'every byte',
    });
    const result = await limits.run(async () => model.doStream({ ...options, abortSignal: limits.signal }));
    const batches = batchesOf(result.stream);
    const opening = await readToFirstToken(batches);
    limits.rest();
    meter.firstToken();
    return { ...result, stream: continueStream(opening, batches, idleMs, limits, meter) };
  } catch (error) {
    const failure = limits.explain(error);
    limits.abandon();
    meter.report({ error: failure });
    throw failure;
  }
}

const openingTypes = new Set([
  'stream-start',
  'response-metadata',
  'raw',
  'ping',
  'text-start',
  'reasoning-start',
]);

async function readToFirstToken(batches: Batches): Promise<Part[]> {
  const parts: Part[] = [];
  for (;;) {
    const batch = await batches.next();
    if (batch === undefined) return parts;
    parts.push(...batch);
    const first = batch.find(({ type }) => !openingTypes.has(type));
    if (first?.type === 'error') throw first.error;
    if (first !== undefined) return parts;
  }
}

type Part = LanguageModelV4StreamPart;

/** What the model wrote in a part of its answer. */
function writtenIn(part: Part | LanguageModelV4Content): string {
  if (part.type === 'text-delta' || part.type === 'reasoning-delta') return part.delta;
  if (part.type === 'text' || part.type === 'reasoning') return part.text;
  return part.type === 'tool-call' ? `${part.toolName} ${part.input}` : '';
}

/**
 * The rest of a stream whose first token has come. What fails from here on arrives as an `error` part
 * followed by `finish`; only the caller's own abort breaks the stream.
 */
function continueStream(
  opening: Part[],
  batches: Batches,
  idleMs: number,
  limits: RunningLimits,
  meter: Meter,
): ReadableStream<Part> {
  let waiting = opening;
  let isOver = false;
  const idle = {
    what: 'no more of the answer',
    milliseconds: idleMs,
    setting: 'LLM_IDLE_TIMEOUT_S',
    extendedBy: 'data',
  } as const;
  // The limit counts only while somebody reads: a slow reader must not look like a stuck endpoint.
  const read = async () => {
    limits.await(idle);
    limits.signal.throwIfAborted();
    const parts = await batches.next();
    limits.rest();
    return parts;
  };
  return streamOf({
    async next() {
      if (isOver) return undefined;
      try {
        const parts = waiting.length > 0 ? waiting : await read();
        waiting = [];
        if (parts === undefined) meter.report({});
        return parts?.map(observed);
      } catch (error) {
        isOver = true;
        return brokenOff(limits.explain(error));
      }
    },
    async cancel(reason) {
      meter.report({ error: new ModelError('aborted') });
      limits.rest();
      await batches.cancel(reason);
    },
  });

  function observed(part: Part): Part {
    meter.wrote(writtenIn(part));
    if (part.type === 'finish') meter.report({ finishReason: part.finishReason.unified, usage: part.usage });
    if (part.type !== 'error') return part;
    const error = limits.explain(part.error);
    meter.note(error);
    return { type: 'error', error };
  }

  function brokenOff(error: ModelError): Part[] {
    limits.abandon();
    meter.report({ error });
    if (error.code === 'aborted') throw error;
    const finishReason = { unified: 'error', raw: undefined } as const;
    return [
      { type: 'error', error },
      { type: 'finish', finishReason, usage: noUsage },
    ];
  }
}
