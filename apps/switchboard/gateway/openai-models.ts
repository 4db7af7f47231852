import type { Logger } from '@trunkline/config';
import { defineErrors } from '@trunkline/http';
import type { Principal } from '@trunkline/identity';
import { ContentError } from '@trunkline/loop';
import {
  type AnswerEvent,
  type CompletionCall,
  type CompletionRequest,
  type OpenAiApi,
  openAiErrors,
  textOf,
} from '@trunkline/openai-api';
import type { MessageFiles } from '../content/message-files.ts';
import { filesOf } from '../content/references.ts';
import type { SkillFrame, SkillResult } from '../dispatch/executor.ts';
import { confirmed } from '../dispatch/registry.ts';
import { retryAfterSeconds } from '../errors.ts';
import type { GatewayParts } from './a2a-gateway.ts';
import { admit, askSkill, type SkillTarget, targetOf } from './ask-skill.ts';

interface ModelDeps extends Pick<GatewayParts, 'bus' | 'routing' | 'limiter'> {
  files: Pick<MessageFiles, 'link'>;
  /** Where links to files begin. */
  publicUrl(): string;
  logger: Pick<Logger, 'error'>;
}

const { agent_busy } = defineErrors({ agent_busy: [503, ({ message }: { message: string }) => message] });

/** Of the frames of an answer that nobody reads. */
const maxWaitingBytes = 1_000_000;

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
  deps: ModelDeps,
): AsyncGenerator<AnswerEvent, void> {
  const { bus, routing, limiter } = deps;
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
    const shown = new Set(isLive ? ['progress', 'reasoning', 'note'] : ['reasoning', 'note']);
    const question = {
      content: conversationText(request),
      correlationId: id.replace(/^chatcmpl-/, ''),
      source: { interface: 'openai' },
      principal,
      signal,
      reader: { shows: ({ type }: SkillFrame) => shown.has(type), maxBytes: maxWaitingBytes },
    };
    for await (const event of askSkill(bus, target, question)) {
      if (event.type === 'frame' && event.frame.type === 'progress')
        yield { type: 'text-delta', text: event.frame.text };
      if (event.type === 'frame' && (event.frame.type === 'reasoning' || event.frame.type === 'note'))
        yield { type: 'reasoning-delta', text: event.frame.text };
      if (event.type !== 'result') continue;
      const { content, error, usage } = event.result;
      if (error !== undefined) throw openAiErrors.upstream_error({ message: error });
      const links = await linksTo(event.result, principal, deps);
      const rest = isLive ? links : content + links;
      if (rest !== '') yield { type: 'text-delta', text: rest };
      yield { type: 'end', finishReason: 'stop', text: content + links, usage };
    }
  } finally {
    release();
  }
}

/** The files of an answer as Markdown below it: clients show pictures, and link to the rest. */
async function linksTo(
  result: SkillResult,
  principal: Principal,
  { files, publicUrl, logger }: ModelDeps,
): Promise<string> {
  const links: string[] = [];
  for (const file of filesOf(result)) {
    // The text of the answer is out: whatever goes wrong here must not take it back.
    const path = await files.link(file, principal).catch((error: unknown) => {
      if (!(error instanceof ContentError))
        logger.error({ err: error, file: file.name }, 'failed to link to a file of an answer');
      return undefined;
    });
    const label = file.name.replace(/[[\]\\]/g, '');
    const isPicture = file.mediaType.startsWith('image/');
    links.push(
      path === undefined
        ? `\n\n(${file.name} cannot be linked to: it is no longer stored, or there is no room for it.)`
        : `\n\n${isPicture ? '!' : ''}[${label}](${publicUrl()}${path})`,
    );
  }
  return links.join('');
}

/** A single message as plain text, several with their roles. */
function conversationText({ messages }: CompletionRequest): string {
  const texts = messages
    .map((message) => ({ role: message.role, text: textOf(message) }))
    .filter(({ text }) => text !== '');
  if (texts.length <= 1) return texts[0]?.text ?? '';
  return texts.map(({ role, text }) => `${role}: ${text}`).join('\n\n');
}
