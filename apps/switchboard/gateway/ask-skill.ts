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

/** A reader that may be slow: frames wait for it in memory. */
interface SlowReader {
  /** Other frames are dropped. */
  shows(frame: SkillFrame): boolean;
  /** Where the frames that wait take more memory, the answer ends with an error. */
  maxBytes: number;
}

export interface Asking {
  /** Of the request; of several where it is not known which of them it has. */
  correlationId: string | readonly string[];
  signal: AbortSignal;
  /** Called once all answers can be received; may give some itself. */
  begin(give: (answer: Answer) => void): Promise<unknown>;
  reader?: SlowReader | undefined;
}

/** Yields all events of a correlation until its result. */
export async function* listen(
  bus: Bus,
  { correlationId, signal, begin, reader }: Asking,
): AsyncGenerator<Answer, void> {
  const queue = new AnswerQueue(reader);
  let wake = Promise.withResolvers<void>();
  const give = (answer: Answer) => {
    queue.push(answer);
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
      const next = queue.shift();
      if (next !== undefined) yield next;
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

/** Answers that wait for their reader, in no more memory than it may take. */
class AnswerQueue {
  readonly #reader: SlowReader | undefined;
  readonly #waiting: { answer: Answer; bytes: number }[] = [];
  #bytes = 0;
  #isCutOff = false;

  constructor(reader: SlowReader | undefined) {
    this.#reader = reader;
  }

  get length(): number {
    return this.#waiting.length;
  }

  push(answer: Answer): void {
    if (this.#isCutOff) return;
    // There is one result, with which the answer ends.
    if (this.#reader === undefined || answer.type === 'result') {
      this.#waiting.push({ answer, bytes: 0 });
      return;
    }
    if (answer.type === 'frame' && !this.#reader.shows(answer.frame)) return;
    const bytes = memoryOf(answer);
    // A frame that waits alone is not late, however large it is.
    if (this.length > 0 && this.#bytes + bytes > this.#reader.maxBytes) {
      const error = `The answer was cut off: over ${this.#reader.maxBytes} bytes of it waited to be read. Read it faster, or ask without a stream.`;
      const result: SkillResult = { content: '', error, taskState: 'failed' };
      this.#waiting.splice(0, this.length, { answer: { type: 'result', result }, bytes: 0 });
      this.#isCutOff = true;
      return;
    }
    this.#waiting.push({ answer, bytes });
    this.#bytes += bytes;
  }

  shift(): Answer | undefined {
    const next = this.#waiting.shift();
    this.#bytes -= next?.bytes ?? 0;
    return next?.answer;
  }
}

/** An upper bound: two bytes a character, and the objects around the text. A frame of one word takes some 160 bytes. */
function memoryOf(answer: Answer): number {
  return 150 + 2 * JSON.stringify(answer).length;
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
    reader?: SlowReader;
  },
): AsyncGenerator<Answer, void> {
  const { content, files = [], correlationId, conversationId, source, principal, signal, reader } = asked;
  const head = { skillHint: skill, agent, content, stream: true, ...(files.length > 0 && { files }) };
  const payload = conversationId === undefined ? head : { ...head, conversationId };
  const begin = () =>
    bus.publish({ topic: 'agent.skill.request', payload, correlationId, source, principal });
  return listen(bus, { correlationId, signal, begin, reader });
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
