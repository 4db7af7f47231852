import { defineErrors, describeRoute, type SseFrame, sse, validate } from '@trunkline/http';
import type { Hono } from 'hono';
import { z } from 'zod';
import { confirmed } from '../dispatch/registry.ts';
import type { GatewayParts } from '../gateway/a2a-gateway.ts';
import { type Answer, askSkill } from '../gateway/ask-skill.ts';
import { admit, retryAfterSeconds, targetOf } from '../gateway/target.ts';
import type { SwitchboardEnv } from './guards.ts';

const errors = defineErrors({
  model_not_found: [404, ({ words }: { words: string }) => `${words} GET /v1/models lists what there is.`],
  agent_busy: [503, ({ words }: { words: string }) => words],
  upstream_error: [502, ({ words }: { words: string }) => words],
});

const part = z.looseObject({ type: z.string(), text: z.string().optional() });
const message = z.looseObject({
  role: z.enum(['system', 'developer', 'user', 'assistant', 'tool']),
  content: z.union([z.string(), z.array(part), z.null()]).optional(),
});
const completionBody = z.looseObject({
  model: z.string().default(''),
  messages: z.array(message).min(1),
  stream: z.boolean().nullish(),
});

type Body = z.output<typeof completionBody>;
type Answers = AsyncGenerator<Answer, void>;

/** Agents as models of an OpenAI-compatible API: `agent` or `agent/skill`; none stands for the helm. */
export function mountOpenAi(
  app: Hono<SwitchboardEnv>,
  { bus, routing, lanes }: Omit<GatewayParts, 'desk'>,
): void {
  app.get('/v1/models', describeRoute({ summary: 'Agents and their skills as models' }), (context) => {
    const ids = routing.registry
      .list()
      .flatMap(({ agent, skills }) => [agent, ...confirmed(skills).map(({ name }) => `${agent}/${name}`)]);
    const data = ids.map((id) => ({ id, object: 'model', created: 0, owned_by: 'switchboard' }));
    return context.json({ object: 'list', data });
  });
  const description = describeRoute({
    summary: 'A skill in the form of a chat completion',
    errors: [errors.model_not_found, errors.agent_busy, errors.upstream_error],
  });
  app.post('/v1/chat/completions', description, validate('json', completionBody), async (context) => {
    const body = context.req.valid('json');
    const [agent, ...skill] = body.model.split('/');
    const target = targetOf(agent || undefined, skill.join('/') || undefined, routing);
    if ('error' in target) throw errors.model_not_found({ words: target.error });
    const admission = admit(target, routing, lanes);
    if ('refusal' in admission) {
      const headers = { 'retry-after': String(retryAfterSeconds) };
      throw errors.agent_busy({ words: admission.refusal }, { headers });
    }
    const correlationId = crypto.randomUUID();
    const head = {
      id: `chatcmpl-${correlationId}`,
      created: Math.floor(Date.now() / 1000),
      model: body.model || target.agent,
    };
    const isLive = routing.registry.agent(target.agent)?.type === 'in-process';
    const question = {
      content: contentOf(body),
      correlationId,
      source: { interface: 'openai' },
      principal: context.get('principal'),
    };
    const ask = (signal: AbortSignal) =>
      releasing(admission, signal, askSkill(bus, target, { ...question, signal }));
    if (!body.stream) return context.json(await wholeAnswer(ask(context.req.raw.signal), head));
    return sse(context, { events: ({ signal }) => chunks(ask(signal), head, isLive) });
  });
}

/** Gives the caller's place back when it has its answer, or is gone. */
function releasing({ release }: { release: () => void }, signal: AbortSignal, answers: Answers): Answers {
  signal.addEventListener('abort', release, { once: true });
  if (signal.aborted) release();
  const heard = async function* (): Answers {
    try {
      yield* answers;
    } finally {
      release();
    }
  };
  return heard();
}

/** The last words alone when nothing was said before, else the conversation with its speakers. */
function contentOf({ messages }: Body): string {
  const said = messages
    .map(({ role, content }) => ({ role, text: textOf(content) }))
    .filter(({ text }) => text !== '');
  if (said.length <= 1) return said[0]?.text ?? '';
  return said.map(({ role, text }) => `${role}: ${text}`).join('\n\n');
}

function textOf(content: Body['messages'][number]['content']): string {
  return typeof content === 'string' ? content : (content ?? []).map(({ text = '' }) => text).join('\n');
}

async function wholeAnswer(answers: Answers, head: object) {
  for await (const answer of answers) {
    if (answer.type !== 'result') continue;
    const { content, error, usage } = answer.result;
    if (error !== undefined) throw errors.upstream_error({ words: error });
    const choice = {
      index: 0,
      message: { role: 'assistant', content, refusal: null },
      logprobs: null,
      finish_reason: 'stop',
    };
    return { ...head, object: 'chat.completion', choices: [choice], usage: usageOf(usage) };
  }
  throw errors.upstream_error({ words: 'The request was ended before an answer was there.' });
}

function usageOf(usage: { inputTokens: number; outputTokens: number; totalTokens: number } | undefined) {
  const { inputTokens = 0, outputTokens = 0, totalTokens = 0 } = usage ?? {};
  return { prompt_tokens: inputTokens, completion_tokens: outputTokens, total_tokens: totalTokens };
}

/** Agents of this process are heard word by word, others when they are done. */
async function* chunks(answers: Answers, head: object, isLive: boolean): AsyncGenerator<SseFrame> {
  const chunk = (delta: object, finish: string | null = null): SseFrame => ({
    data: JSON.stringify({
      ...head,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, finish_reason: finish }],
    }),
  });
  yield chunk({ role: 'assistant', content: '' });
  for await (const answer of answers) {
    if (answer.type === 'frame' && answer.frame.type === 'progress' && isLive)
      yield chunk({ content: answer.frame.text });
    if (answer.type !== 'result') continue;
    const { content, error } = answer.result;
    if (error !== undefined)
      yield { data: JSON.stringify({ error: { message: error, type: 'upstream_error' } }) };
    else if (!isLive) yield chunk({ content });
    yield chunk({}, 'stop');
  }
  yield { data: '[DONE]' };
}
