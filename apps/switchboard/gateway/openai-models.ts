import { defineErrors } from '@trunkline/http';
import {
  type AnswerEvent,
  type CompletionCall,
  type CompletionRequest,
  type OpenAiApi,
  openAiErrors,
  textOf,
} from '@trunkline/openai-api';
import { confirmed } from '../dispatch/registry.ts';
import { retryAfterSeconds } from '../errors.ts';
import type { GatewayParts } from './a2a-gateway.ts';
import { admit, askSkill, type SkillTarget, targetOf } from './ask-skill.ts';

type ModelDeps = Omit<GatewayParts, 'humanInput' | 'files'>;

const { agent_busy } = defineErrors({ agent_busy: [503, ({ message }: { message: string }) => message] });

/** Models are `agent` or `agent/skill`; without one the helm answers. */
export function agentsAsModels(deps: ModelDeps): OpenAiApi {
  const { registry, workspace } = deps.routing;
  return {
    ownedBy: 'switchboard',
    models: () =>
      registry
        .list()
        .flatMap(({ agent, skills }) => [agent, ...confirmed(skills).map(({ name }) => `${agent}/${name}`)]),
    findModel(id) {
      const [agent, ...skill] = id.split('/');
      const target = targetOf(agent, skill.join('/') || undefined, deps.routing);
      if (!('error' in target)) return (call) => answer(call, target, deps);
      const message = `${target.error} GET /v1/models lists what there is.`;
      throw openAiErrors.model_not_found({ message });
    },
    defaultModel: () => workspace.fleet().roles.helm,
    images: false,
    errors: [agent_busy],
  };
}

/** In-process agents stream text as it comes, others when they are done. */
async function* answer(
  { id, request, principal, signal }: CompletionCall,
  target: SkillTarget,
  { bus, routing, limiter }: ModelDeps,
): AsyncGenerator<AnswerEvent, void> {
  const admission = admit(target, routing, limiter);
  if ('refusal' in admission) {
    const headers = { 'retry-after': String(retryAfterSeconds) };
    throw agent_busy({ message: admission.refusal }, { headers });
  }
  const { release } = admission;
  signal.addEventListener('abort', release, { once: true });
  try {
    signal.throwIfAborted();
    const isLive = routing.registry.agent(target.agent)?.type === 'in-process';
    const question = {
      content: conversationText(request),
      correlationId: id.replace(/^chatcmpl-/, ''),
      source: { interface: 'openai' },
      principal,
      signal,
    };
    for await (const event of askSkill(bus, target, question)) {
      if (event.type === 'frame' && event.frame.type === 'progress' && isLive)
        yield { type: 'text-delta', text: event.frame.text };
      if (event.type === 'frame' && (event.frame.type === 'reasoning' || event.frame.type === 'note'))
        yield { type: 'reasoning-delta', text: event.frame.text };
      if (event.type !== 'result') continue;
      const { content, error, usage } = event.result;
      if (error !== undefined) throw openAiErrors.upstream_error({ message: error });
      if (!isLive) yield { type: 'text-delta', text: content };
      yield { type: 'end', finishReason: 'stop', text: content, usage };
    }
  } finally {
    release();
  }
}

/** A single message as plain text, several with their roles. */
function conversationText({ messages }: CompletionRequest): string {
  const texts = messages
    .map((message) => ({ role: message.role, text: textOf(message) }))
    .filter(({ text }) => text !== '');
  if (texts.length <= 1) return texts[0]?.text ?? '';
  return texts.map(({ role, text }) => `${role}: ${text}`).join('\n\n');
}
