import type { LanguageModelV4 } from '@ai-sdk/provider';
import { decide } from './reply.ts';
import { readRequest } from './request.ts';
import { generated, streamed } from './stream.ts';

const demoModelId = 'trunkline-demo';

interface DemoModelOptions {
  /** The clock that "in 5 minutes" counts from. */
  now?: () => Date;
}

/**
 * A language model that needs no network and no key: it recognises wishes by rules, calls the tools it is given,
 * works on given text by extraction, and says that it is the demo. The same request gives the same reply.
 */
export function createDemoModel({ now = () => new Date() }: DemoModelOptions = {}): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'trunkline',
    modelId: demoModelId,
    supportedUrls: {},
    async doGenerate(options) {
      options.abortSignal?.throwIfAborted();
      return generated(decide(readRequest(options), now()), options, demoModelId);
    },
    async doStream(options) {
      options.abortSignal?.throwIfAborted();
      return { stream: streamed(decide(readRequest(options), now()), options, demoModelId) };
    },
  };
}
