import type { AgentOptions } from '@trunkline/agent';
import { createModelGateway } from '@trunkline/llm';
import type { Diagnosis } from '@trunkline/service';

const LIMIT_MS = 10_000;

/** Asks the model endpoint whether it answers, takes the key and has the model. */
export async function checkModel(options: AgentOptions): Promise<Diagnosis[]> {
  const gateway = createModelGateway({
    url: options.llmGatewayUrl,
    apiKey: options.llmApiKey,
    model: options.llmModel,
    fastModel: options.llmFastModel,
  });
  const { ok, message } = await gateway.check(AbortSignal.timeout(LIMIT_MS));
  if (!ok) return [{ subject: 'model', state: 'failed', words: message }];
  return [{ subject: 'model', state: gateway.describe().demo ? 'warning' : 'ok', words: message }];
}
