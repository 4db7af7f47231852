import type { LanguageModelV4StreamPart, LanguageModelV4Usage } from '@ai-sdk/provider';
import type { RunningLimits } from './limits.ts';
import type { Meter } from './meter.ts';
import { ModelError } from './model-error.ts';

type Part = LanguageModelV4StreamPart;

const noUsage: LanguageModelV4Usage = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};

/**
 * The rest of a stream whose first token has come. What fails from here on arrives as an `error` part
 * followed by `finish`; only the caller's own abort breaks the stream.
 */
export function continueStream(
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
