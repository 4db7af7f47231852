import { type A2aClient, type RemoteAgent, RemoteAgentError, type RemoteReply } from '@trunkline/a2a';
import { type Bus, type Delivery, escapeSegment, type Message } from '@trunkline/bus';
import type { Logger } from '@trunkline/config';
import type { Clock } from '@trunkline/schedule';
import { errorMessage } from '@trunkline/std';
import { namesOf } from '../content/references.ts';
import { derivedId, onBehalf, uuidOf } from '../core/messages.ts';
import { pause } from '../core/timers.ts';
import { fieldsOf, text } from '../dispatch/request.ts';
import { reportError } from '../workspace/problems.ts';

export interface A2aDeliverySettings {
  bus: Bus;
  client: A2aClient;
  clock: Clock;
  /** Undefined when there is no `a2a.yaml`. */
  targets: () => ReadonlyMap<string, RemoteAgent> | undefined;
  logger: Logger;
}

const timeoutMs = 15_000;
const waits = [1000, 5000, 25_000];
const atOnce = 16;
/** Final refusals. */
const refusals: readonly string[] = ['failed', 'rejected', 'canceled', 'auth-required'];

interface Result {
  content: string;
  error?: string;
  taskState: 'completed' | 'failed';
  attempts: number;
}

/** Delivers what schedules publish for the channel `a2a`; an interrupted delivery is repeated. */
export function createA2aDelivery({ bus, logger, clock, targets, client }: A2aDeliverySettings) {
  async function start(): Promise<void> {
    const options = {
      durable: 'a2a-courier',
      group: 'a2a-courier',
      concurrency: atOnce,
      plugin: 'scheduler',
    };
    await bus.subscribe('cron.#', (...given) => handle(...given), options);
  }

  async function handle(message: Message, { signal }: Delivery): Promise<void> {
    if (fieldsOf(message.payload).channel !== 'a2a') return;
    const startedAt = clock.now();
    const result = await deliver(message, signal);
    if (result.error !== undefined) await complain(message, result.error);
    const { correlationId, id: parentId } = message;
    const durationMs = clock.now() - startedAt;
    await bus.publish({
      topic: `agent.skill.response.${escapeSegment(correlationId)}`,
      payload: { ...result, correlationId, durationMs },
      correlationId,
      parentId,
      principal: onBehalf(message, 'switchboard'),
    });
  }

  async function deliver(message: Message, signal: AbortSignal): Promise<Result> {
    const name = text(fieldsOf(message.payload).agent_name) ?? '';
    const known = targets();
    const target = known?.get(name);
    if (target !== undefined) return await send(target, message, signal);
    const why =
      known === undefined
        ? `there is no a2a.yaml in the workspace; create it with targets: {${name || '<agent_name>'}: {url: ...}}`
        : `a2a.yaml has no target ${JSON.stringify(name)}; it has ${[...known.keys()].join(', ') || 'none'}`;
    return { content: '', error: `The firing was dropped: ${why}.`, taskState: 'failed', attempts: 0 };
  }

  async function send(target: RemoteAgent, message: Message, signal: AbortSignal): Promise<Result> {
    for (let attempts = 1; ; attempts += 1) {
      try {
        return { ...(await sendOnce(target, message, signal)), attempts };
      } catch (error) {
        signal.throwIfAborted();
        const wait = waits[attempts - 1];
        const words = errorMessage(error);
        if (wait === undefined || !mayPass(error))
          return { content: '', error: words, taskState: 'failed', attempts };
        logger.warn(
          { target: target.name, attempts, waitMs: wait, error: words },
          'failed to deliver scheduled run; retrying',
        );
        await pause(wait, clock, signal);
      }
    }
  }

  async function sendOnce(
    target: RemoteAgent,
    { id, payload, principal }: Message,
    signal: AbortSignal,
  ): Promise<Omit<Result, 'attempts'>> {
    const { content, agent_name, scheduler_job_id, on_behalf_of, scheduledAt } = fieldsOf(payload);
    // Whom the agent had it scheduled for, in a form that only the agent can make and read, and for which time.
    const asker = text(on_behalf_of);
    const run = asker && { on_behalf_of: asker, scheduled_at: scheduledAt };
    const metadata = { scheduler_job_id, channel: 'a2a', agent_name, ...run };
    // Stable, so that the target can deduplicate attempts.
    const messageId = uuidOf(derivedId(id, 'a2a'), '8', 'a');
    const outgoing = { text: text(content) ?? '', messageId, metadata };
    const reply = await client.send(target, outgoing, { timeoutMs, signal, principal });
    return resultOf(target, reply);
  }

  async function complain(message: Message, error: string): Promise<void> {
    const { topic, correlationId, id: parentId } = message;
    logger.error({ topic, fireId: correlationId, error }, 'failed to deliver scheduled run');
    const payload = { source: 'scheduler', plugin: 'scheduler', error, topic };
    const principal = onBehalf(message, 'switchboard');
    await reportError(bus, logger, payload, { correlationId, parentId, principal });
  }

  return { start };
}

function resultOf(
  { name }: RemoteAgent,
  { state, text: answer, statusText, artifacts }: RemoteReply,
): Omit<Result, 'attempts'> {
  const files = artifacts.flatMap(({ parts }) => parts).filter((part) => part.type === 'file');
  const left = files.length === 0 ? [] : [`(Made, and not fetched: ${namesOf(files)})`];
  const said = [answer, ...left].filter((words) => words !== '').join('\n');
  if (!refusals.includes(state)) return { content: said, taskState: 'completed' };
  const error = `The agent ${name} took it and ended ${state}${statusText === '' ? '' : `: ${statusText}`}.`;
  return { content: said, error, taskState: 'failed' };
}

/** Refused credentials will be refused again. */
function mayPass(error: unknown): boolean {
  return !(
    error instanceof RemoteAgentError && ['agent_unauthorized', 'agent_unknown_caller'].includes(error.code)
  );
}
