import { type Bus, escapeSegment, type Message, type Source } from '@trunkline/bus';
import type { Principal } from '@trunkline/identity';
import type { StoredFile } from '@trunkline/loop';
import type { Admission, AgentLimiter } from '../dispatch/agent-limiter.ts';
import type { SkillFrame, SkillResult } from '../dispatch/executor.ts';
import { isPending } from '../dispatch/registry.ts';
import type { RoutingDeps } from '../router/decide.ts';

interface SkillQuestion {
  requestId: string;
  question: string;
}

/** Events of a request, in order; `result` is the last. */
export type Answer =
  | { type: 'frame'; frame: SkillFrame }
  | { type: 'question'; question: SkillQuestion }
  | { type: 'result'; result: SkillResult };

export interface Asking {
  /** Of the request; of several where it is not known which of them it has. */
  correlationId: string | readonly string[];
  signal: AbortSignal;
  /** Called once all answers can be received; may give some itself. */
  begin(give: (answer: Answer) => void): Promise<unknown>;
  /** Characters of frames that may wait, where a slow reader takes them; beyond them the answer ends with an error. */
  mostWaiting?: number | undefined;
}

/** Yields all events of a correlation until its result. */
export async function* listen(
  bus: Bus,
  { correlationId, signal, begin, mostWaiting = Number.POSITIVE_INFINITY }: Asking,
): AsyncGenerator<Answer, void> {
  const queue: Answer[] = [];
  let waiting = 0;
  let wake = Promise.withResolvers<void>();
  const give = (answer: Answer) => {
    if (waiting > mostWaiting) return;
    waiting += sizeOf(answer);
    if (waiting > mostWaiting) queue.length = 0;
    else queue.push(answer);
    wake.resolve();
  };
  const hear = (kind: (message: Message) => Answer) => (message: Message) => give(kind(message));
  const asked = [correlationId].flat();
  const frame = ({ payload }: Message): Answer => ({ type: 'frame', frame: payload as SkillFrame });
  const kinds: Record<string, (message: Message) => Answer> = {
    'agent.skill.progress': frame,
    'agent.skill.reasoning': frame,
    'agent.skill.toolframe': frame,
    'agent.input.request': ({ payload }) => ({ type: 'question', question: payload as SkillQuestion }),
    'agent.skill.response': ({ payload }) => ({ type: 'result', result: payload as SkillResult }),
  };
  const subscriptions = await Promise.all(
    Object.entries(kinds).flatMap(([topic, kind]) =>
      asked.map((id) => bus.subscribe(`${topic}.${escapeSegment(id)}`, hear(kind), { plugin: 'gateway' })),
    ),
  );
  const leave = () => wake.resolve();
  signal.addEventListener('abort', leave, { once: true });
  try {
    if (!signal.aborted) await begin(give);
    while (!signal.aborted) {
      if (waiting > mostWaiting) {
        const error = `The answer was cut off: over ${mostWaiting} characters of it waited to be read. Read it faster, or ask without a stream.`;
        yield { type: 'result', result: { content: '', error, taskState: 'failed' } };
        return;
      }
      const next = queue.shift();
      if (next !== undefined) {
        waiting -= sizeOf(next);
        yield next;
      }
      if (next?.type === 'result') return;
      if (queue.length > 0) continue;
      await wake.promise;
      wake = Promise.withResolvers<void>();
    }
  } finally {
    signal.removeEventListener('abort', leave);
    await Promise.all(subscriptions.map((subscription) => subscription.unsubscribe()));
  }
}

function sizeOf(answer: Answer): number {
  if (answer.type !== 'frame') return 0;
  const { frame } = answer;
  if ('result' in frame) return frame.result.length;
  return 'text' in frame ? frame.text.length : 0;
}

export interface SkillTarget {
  agent: string;
  skill: string;
}

/** Requests a skill over the bus. */
export function askSkill(
  bus: Bus,
  { agent, skill }: SkillTarget,
  asked: {
    content: string;
    files?: readonly StoredFile[];
    correlationId: string;
    conversationId?: string;
    source: Source;
    principal: Principal;
    signal: AbortSignal;
    mostWaiting?: number;
  },
): AsyncGenerator<Answer, void> {
  const {
    content,
    files = [],
    correlationId,
    conversationId,
    source,
    principal,
    signal,
    mostWaiting,
  } = asked;
  const head = { skillHint: skill, agent, content, stream: true, ...(files.length > 0 && { files }) };
  const payload = conversationId === undefined ? head : { ...head, conversationId };
  const begin = () =>
    bus.publish({ topic: 'agent.skill.request', payload, correlationId, source, principal });
  return listen(bus, { correlationId, signal, begin, mostWaiting });
}

/** The named agent and skill, else those of the helm. */
export function targetOf(
  agent: string | undefined,
  skill: string | undefined,
  { registry, workspace }: RoutingDeps,
): SkillTarget | { error: string } {
  const name = agent ?? workspace.fleet().roles.helm;
  const executor = registry.agent(name);
  const chosen = skill ?? executor?.skills[0]?.name;
  if (executor === undefined || chosen === undefined)
    return { error: `There is no agent ${name} with a skill.` };
  const found = registry.resolve(chosen, name);
  return 'reason' in found ? { error: `It cannot be done: ${found.why}.` } : { agent: name, skill: chosen };
}

/** Admits a caller that waits for the answer, or says why not now; nothing is accepted before. */
export function admit(
  { agent, skill }: SkillTarget,
  { registry }: Pick<RoutingDeps, 'registry'>,
  limiter: AgentLimiter,
): Admission {
  const executor = registry.agent(agent);
  if (executor !== undefined && isPending(executor, skill))
    return { refusal: `${agent} has not answered since the switchboard started; try again later` };
  return limiter.admit(agent);
}
