import { getEventListeners } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Bus, BusError, createEmbeddedBus, type Delivery, type Handler } from '@trunkline/bus';
import { createLogger } from '@trunkline/config';
import { anonymous, type Principal } from '@trunkline/identity';
import { StepConflictError } from '@trunkline/loop';
import { type TemporaryDirectory, temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FlowStore } from '../flows/flow-store.ts';
import { AgentLimiter } from './agent-limiter.ts';
import { Cooldowns } from './agent-queues.ts';
import { Dispatcher } from './dispatcher.ts';
import type { SkillContext, SkillRequest, SkillResult } from './executor.ts';
import { cancelSkill } from './live-runs.ts';
import { createOtherWorkers } from './other-workers.ts';
import { ExecutorRegistry, SkillStore } from './registry.ts';
import { TaskStore } from './task-store.ts';

let [directory, bus, flows, tasks] = [] as unknown as [TemporaryDirectory, Bus, FlowStore, TaskStore];
const registry = new ExecutorRegistry();
const deliveries: Delivery[] = [];
/** What another switchboard answers, one question after the other; the last answer stays. */
let elsewhere: unknown[] = [];
let questions = 0;
/** Whether all other switchboards could be asked. */
let isComplete = true;
/** Beyond what the work of any test takes. */
const longMs = 600_000;
let totalTimeoutMs = longMs;

beforeEach(async () => {
  directory = temporaryDirectory();
  bus = await createEmbeddedBus({ directory: join(directory.path, 'bus') });
  flows = new FlowStore(join(directory.path, 'flows.db'));
  tasks = new TaskStore(join(directory.path, 'tasks.db'));
  await new Dispatcher({
    bus: watched(bus),
    registry,
    flows,
    tasks,
    cooldowns: new Cooldowns({}),
    limiter: new AgentLimiter({ running: 4, waiting: 100, delegationWaitMs: 60_000 }),
    arms: { choose: (_, executor) => executor, note: async () => undefined },
    skills: new SkillStore(':memory:'),
    senderRefusal: () => undefined,
    queueConcurrency: 32,
    executorWaitMs: 60_000,
    timeoutMs: 50,
    get totalTimeoutMs() {
      return totalTimeoutMs;
    },
    others: createOtherWorkers({
      peers: { offer: () => undefined, askAll: askOther },
      flows,
      takeoverMs: 20,
    }),
    callbackUrl: undefined,
    logger: createLogger({ name: 'test', level: 'ERROR', destination: { write: () => undefined } }),
  }).start();
});

afterEach(async () => {
  totalTimeoutMs = longMs;
  await bus.stop();
  flows.close();
  tasks.close();
  directory.remove();
});

async function askOther<Answer>(): Promise<{ answers: Answer[]; isComplete: boolean }> {
  questions += 1;
  const [answer] = elsewhere.length > 1 ? elsewhere.splice(0, 1) : elsewhere;
  return { answers: answer === undefined ? [] : [answer as Answer], isComplete };
}

/** The bus, with a look at what it hands to its durable subscriber. */
function watched(real: Bus): Bus {
  const subscribe: Bus['subscribe'] = (pattern, handler, options) => {
    const look: Handler = (message, delivery) => {
      deliveries.push(delivery);
      return handler(message, delivery);
    };
    return real.subscribe(pattern, look, options);
  };
  const isHeard: Bus['isHeard'] = (topic) => real.isHeard(topic);
  return { subscribe, isHeard, publish: (draft) => real.publish(draft) } as Bus;
}

function skill(
  execute: (signal: AbortSignal, request: SkillRequest, context: SkillContext) => Promise<SkillResult>,
  isPending = false,
): void {
  const skills = [{ name: 'work', description: '', keywords: [], pending: isPending }];
  const run = (request: SkillRequest, context: SkillContext) => execute(context.signal, request, context);
  registry.replace('test', [{ agent: 'worker', type: 'in-process', skills, execute: run }]);
}

const ask = (count: number) =>
  Promise.all(
    Array.from({ length: count }, (_, index) =>
      bus.publish({
        topic: 'agent.skill.request',
        payload: { skillHint: 'work' },
        correlationId: `c${index}`,
      }),
    ),
  );
const ended = (stage: string) =>
  flows.list({ limit: 1000, principal: anonymous }).filter((flow) => flow.stage === stage).length;

it('leaves nothing behind on the signals of the bus, which outlive every request', async () => {
  skill(async () => ({ content: 'done', taskState: 'completed' }));
  await ask(50);
  await waitFor(() => ended('done') === 50);
  const signals = deliveries.flatMap(({ signal, stopping }) => [signal, stopping]);
  await waitFor(() => signals.every((signal) => getEventListeners(signal, 'abort').length === 0));
});

it('leaves behind a skill that does not heed its signal when its time is over, and says so', async () => {
  let given: AbortSignal | undefined;
  skill((signal) => {
    given = signal;
    return new Promise(() => undefined);
  });
  await ask(1);
  await waitFor(() => ended('error') === 1);
  expect(given?.aborted).toBe(true);
  expect(flows.list({ limit: 1, principal: anonymous })[0]?.errorPreview).toContain(
    'SWITCHBOARD_SKILL_TIMEOUT_MS',
  );
});

it('counts an outage of its own bus against no agent, and does the work once that is over', async () => {
  // More than open the circuit of an agent that fails.
  let failures = 0;
  skill(async (_signal, { correlationId }) => {
    const left = failing.get(correlationId) ?? 0;
    if (left === 0) return { content: 'done', taskState: 'completed' };
    failing.set(correlationId, left - 1);
    failures += 1;
    throw new BusError('unavailable', 'NATS cannot store this now.');
  });
  const failing = new Map(Array.from({ length: 8 }, (_, index) => [`c${index}`, 1]));
  // More often than a message is tried that fails by itself.
  failing.set('c0', 7);
  await ask(12);
  await waitFor(() => ended('done') + ended('error') === 12);
  expect([failures, ended('error')]).toEqual([14, 0]);
  expect(await bus.deadLetters()).toEqual([]);
});

it('lets a skill whose model is at work go on beyond its time', async () => {
  skill(async (_signal, _request, { extend, tell }) => {
    extend?.(120_000);
    tell({ type: 'note', text: 'The model is being loaded.' });
    await delay(200);
    return { content: 'done', taskState: 'completed' };
  });
  await ask(1);
  await waitFor(() => ended('done') + ended('error') === 1);
  expect(ended('done')).toBe(1);
});

it('ends a skill that goes on and on, whatever progress it shows, and says so', async () => {
  totalTimeoutMs = 100;
  skill((_signal, _request, { extend, tell }) => {
    extend?.(longMs);
    tell({ type: 'progress', text: 'Still at it.' });
    return new Promise(() => undefined);
  });
  await ask(1);
  await waitFor(() => ended('error') === 1);
  expect(flows.list({ limit: 1, principal: anonymous })[0]?.errorPreview).toContain(
    'SWITCHBOARD_SKILL_TOTAL_TIMEOUT_MS',
  );
});

it('ends what its owner cancels, and heeds nobody else', async () => {
  const given: AbortSignal[] = [];
  skill((signal, _request, { extend }) => {
    extend?.(longMs);
    given.push(signal);
    return new Promise(() => undefined);
  });
  const ada: Principal = { kind: 'person', id: 'ada', via: [] };
  const payload = { skillHint: 'work' };
  await bus.publish({ topic: 'agent.skill.request', payload, correlationId: 'hers', principal: ada });
  await waitFor(() => given.length === 1);
  await cancelSkill(bus, 'hers', { ...ada, id: 'bob' });
  await cancelSkill(bus, 'others', ada);
  await cancelSkill(bus, 'hers', ada);
  const flow = () => flows.list({ limit: 1, principal: ada })[0];
  await waitFor(() => flow()?.status === 'complete');
  expect(flow()?.errorPreview).toBe('Canceled by person:ada.');
  expect(given.map(({ aborted }) => aborted)).toEqual([true]);
  expect(await bus.deadLetters()).toEqual([]);
});

it('ends what was cancelled while it waited for its agent, once that is there', async () => {
  const work = (_signal: AbortSignal, _request: SkillRequest, { extend }: SkillContext) => {
    extend?.(longMs);
    return new Promise<SkillResult>(() => undefined);
  };
  skill(work, true);
  await ask(1);
  await waitFor(async () => (await bus.history({ topic: 'agent.skill.queue.worker' })).length === 1);
  await cancelSkill(bus, 'c0', anonymous);
  skill(work);
  await waitFor(() => ended('error') === 1);
  expect(flows.list({ limit: 1, principal: anonymous })[0]?.errorPreview).toBe('Canceled by anonymous.');
});

it('leaves work to the switchboard that has taken it over, for as long as that one is at work', async () => {
  elsewhere = ['running', {}];
  questions = 0;
  const answers: unknown[] = [];
  await bus.subscribe('agent.skill.response.#', ({ payload }) => void answers.push(payload));
  let runs = 0;
  skill(async () => {
    runs += 1;
    throw new StepConflictError('elsewhere');
  });
  await ask(1);
  await waitFor(() => ended('done') === 1);
  expect([runs, questions, answers]).toEqual([1, 2, []]);
  expect(await bus.deadLetters()).toEqual([]);
});

it('goes on with the steps of another switchboard once that one is silent', async () => {
  elsewhere = [];
  const runs: (boolean | undefined)[] = [];
  skill(async (_, { resumes }) => {
    runs.push(resumes);
    if (runs.length === 1) throw new StepConflictError('elsewhere');
    return { content: 'done', taskState: 'completed' };
  });
  await ask(1);
  await waitFor(() => ended('done') === 1);
  expect(runs).toHaveLength(2);
  expect(runs[1]).toBe(true);
  expect(deliveries.at(-1)?.attempt).toBe(1);
});

it('does not take a switchboard that cannot be asked for one that is not at work, until it has been silent for long', async () => {
  elsewhere = [];
  isComplete = false;
  const seen: boolean[] = [];
  skill(async (_, __, { isElsewhere }) => {
    const taken = (await isElsewhere?.()) === true;
    seen.push(taken);
    if (taken) throw new StepConflictError('elsewhere');
    return { content: 'done', taskState: 'completed' };
  });
  await ask(1);
  await waitFor(() => ended('done') === 1);
  isComplete = true;
  expect(seen).toEqual([true, false]);
  expect(deliveries.at(-1)?.attempt).toBe(1);
});

it('works on what waited in the queue of its agent on behalf of whoever asked, with where their words come from', async () => {
  const asked: unknown[] = [];
  const work = async (_: AbortSignal, { principal }: SkillRequest): Promise<SkillResult> => {
    asked.push(principal);
    return { content: 'done', taskState: 'completed' };
  };
  skill(work, true);
  const origins = [{ kind: 'web_fetch', source: 'https://example.com' }];
  const principal: Principal = { kind: 'person', id: 'ada', role: 'member', via: ['mail'], origins };
  const payload = { skillHint: 'work' };
  await bus.publish({ topic: 'agent.skill.request', payload, correlationId: 'hers', principal });
  await waitFor(async () => (await bus.history({ topic: 'agent.skill.queue.worker' })).length === 1);
  skill(work);
  await waitFor(() => asked.length > 0);
  expect(asked).toEqual([principal]);
});
