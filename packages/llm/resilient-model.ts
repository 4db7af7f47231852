import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
  LanguageModelV4Usage,
} from '@ai-sdk/provider';
import { type LimitOptions, type RunningLimits, startLimits } from './limits.ts';
import { type Meter, type MeterOptions, startMeter } from './meter.ts';
import { ModelError } from './model-error.ts';
import { type RetryPolicy, tryInTurn } from './retry.ts';

const noUsage: LanguageModelV4Usage = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};

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
      tryInTurn(chain, policy, options.abortSignal, (model) =>
        attempt(
          model.modelId,
          policy,
          options.abortSignal,
          async (abortSignal) => model.doGenerate({ ...options, abortSignal }),
          ({ finishReason, usage }) => ({ finishReason: finishReason.unified, usage }),
        ),
      ),
    doStream: (options) =>
      tryInTurn(chain, policy, options.abortSignal, (model) => streamOnce(model, options, policy)),
  };
}

/** Makes one attempt within its time limit and reports it to the meter. */
export async function attempt<Result>(
  modelId: string,
  policy: CallPolicy,
  caller: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<Result>,
  reportOf: (result: Result) => Parameters<Meter['report']>[0],
): Promise<Result> {
  const meter = startMeter(modelId, policy);
  const limits = startLimits(caller, { totalMs: policy.timeoutMs }, policy);
  try {
    const result = await work(limits.signal);
    meter.report(reportOf(result));
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

async function readToFirstToken(reader: ReadableStreamDefaultReader<Part>): Promise<Part[]> {
  const parts: Part[] = [];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return parts;
    if (value.type === 'error') throw value.error;
    parts.push(value);
    if (!openingTypes.has(value.type)) return parts;
  }
}

type Part = LanguageModelV4StreamPart;

/**
 * The rest of a stream whose first token has come. What fails from here on arrives as an `error` part
 * followed by `finish`; only the caller's own abort breaks the stream.
 */
function continueStream(
  opening: Part[],
  reader: ReadableStreamDefaultReader<Part>,
  limits: RunningLimits,
  meter: Meter,
): ReadableStream<Part> {
  const waiting = [...opening];
  return new ReadableStream<Part>(
    {
      async pull(controller) {
        try {
          const part = waiting.shift() ?? (await reader.read()).value;
          if (part === undefined) close(controller);
          else controller.enqueue(observed(part));
        } catch (error) {
          breakOff(controller, limits.explain(error));
        }
      },
      async cancel(reason) {
        meter.report({ error: new ModelError('aborted') });
        limits.end();
        await reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );

  function observed(part: Part): Part {
    if (part.type === 'finish') meter.report({ finishReason: part.finishReason.unified, usage: part.usage });
    if (part.type !== 'error') return part;
    const error = limits.explain(part.error);
    meter.note(error);
    return { type: 'error', error };
  }

  function close(controller: ReadableStreamDefaultController<Part>): void {
    limits.end();
    meter.report({});
    controller.close();
  }

  function breakOff(controller: ReadableStreamDefaultController<Part>, error: ModelError): void {
    limits.abandon();
    meter.report({ error });
    if (error.code === 'aborted') controller.error(error);
    else endWith(controller, error);
  }
}

function endWith(controller: ReadableStreamDefaultController<Part>, error: ModelError): void {
  controller.enqueue({ type: 'error', error });
  controller.enqueue({ type: 'finish', finishReason: { unified: 'error', raw: undefined }, usage: noUsage });
  controller.close();
}
