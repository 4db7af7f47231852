import { type FakePeer, startFakePeer, waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Observer, observe } from '../fixtures/observe.ts';
import { type Json, startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';
import { AgentLimiter } from './agent-limiter.ts';
import type { SkillResult } from './executor.ts';

let slow: FakePeer;
let quick: FakePeer;
let board: TestSwitchboard;
let seen: Observer;
beforeAll(async () => {
  slow = await startFakePeer({ answer: () => ({ hang: true }) });
  quick = await startFakePeer({ answer: () => ({ text: 'done' }) });
  board = await startSwitchboard({
    env: { SWITCHBOARD_EXECUTOR_CONCURRENCY: '1' },
    files: {
      'agents.yaml': `agents:
  - { name: slow, url: "${slow.url}", skills: [wait] }
  - { name: quick, url: "${quick.url}", skills: [run] }
  - { name: linked, url: "${quick.url}", skills: [link], chain: { link: gone } }
  - { name: gone, url: "http://127.0.0.1:9/a2a", skills: [vanish] }`,
    },
  });
  seen = await observe(board);
});
afterAll(async () => {
  seen.close();
  await slow.stop();
  await quick.stop();
  await board.stop();
});

async function ask(skillHint: string, correlationId: string): Promise<string> {
  const payload = { skillHint, content: 'x' };
  await board.call('/publish', { topic: 'agent.skill.request', payload, correlationId });
  return correlationId;
}
const answerTo = async (id: string) => (await seen.first(`agent.skill.response.${id}`)).payload;
const loadOf = async (name: string) =>
  (await board.call('/api/agents')).body.data.find((agent: Json) => agent.name === name).load;

it('leaves alone an agent that failed five times in a row, and says so', async () => {
  for (let number = 1; number <= 5; number++)
    expect((await answerTo(await ask('vanish', `v${number}`))).taskState).toBe('failed');
  expect(await answerTo(await ask('vanish', 'v6'))).toMatchObject({
    taskState: 'rejected',
    error: expect.stringMatching(/gone failed 5 times in a row and is left alone for \d+ s/),
  });
  expect(await loadOf('gone')).toEqual({ running: 0, waiting: 0, circuit: 'open' });
});

it('leaves it alone too when another agent would hand work on to it', async () => {
  expect(await answerTo(await ask('link', 'l1'))).toMatchObject({
    error: expect.stringContaining('gone failed 5 times in a row and is left alone'),
  });
});

it('gives a slot that its holder lends to others, and takes back the next one before all who wait', async () => {
  const limiter = new AgentLimiter({ running: 1, waiting: 2, delegationWaitMs: 1000 });
  const { signal } = new AbortController();
  const good: SkillResult = { content: 'ok', taskState: 'completed' };
  const [asked, second, third] = [1, 2, 3].map(() => Promise.withResolvers<SkillResult>());
  const order: string[] = [];
  const one = limiter.run('mate', signal, async (slot) => {
    const answer = await slot.lend(() => asked?.promise ?? Promise.reject(), signal);
    order.push('one');
    return answer;
  });
  const two = limiter.run('mate', signal, () => second?.promise ?? Promise.reject());
  const three = limiter.run('mate', signal, async () => {
    order.push('three');
    return (await third?.promise) ?? good;
  });
  await waitFor(() => limiter.load('mate').waiting === 1);
  expect(limiter.load('mate')).toMatchObject({ running: 1, waiting: 1 });
  asked?.resolve(good);
  await waitFor(() => limiter.load('mate').waiting === 2);
  second?.resolve(good);
  await Promise.all([one, two]);
  third?.resolve(good);
  await three;
  expect(order).toEqual(['one', 'three']);
  expect(limiter.load('mate')).toMatchObject({ running: 0, waiting: 0 });
});

it('counts a holder that no longer waits for its answer, though its slot is taken', async () => {
  const limiter = new AgentLimiter({ running: 1, waiting: 2, delegationWaitMs: 1000 });
  const { signal } = new AbortController();
  const [gaveUp, gate] = [new AbortController(), Promise.withResolvers<SkillResult>()];
  const waits = new Promise<never>((_, reject) => {
    gaveUp.signal.addEventListener('abort', () => reject(gaveUp.signal.reason), { once: true });
  });
  const one = limiter.run('mate', signal, async (slot) => {
    await slot.lend(() => waits, gaveUp.signal).catch(() => undefined);
    return await gate.promise;
  });
  const two = limiter.run('mate', signal, () => gate.promise);
  await waitFor(() => limiter.load('mate').waiting === 0);
  gaveUp.abort(new Error('too late'));
  await waitFor(() => limiter.load('mate').running === 2);
  gate.resolve({ content: '', taskState: 'completed' });
  await Promise.all([one, two]);
  expect(limiter.load('mate')).toMatchObject({ running: 0, waiting: 0 });
});

it('lets requests wait for a busy agent, however many, and holds up no other', async () => {
  await Promise.all(Array.from({ length: 9 }, (_, index) => ask('wait', `w${index}`)));
  // Seven wait in memory, and one comes from the queue in the journal.
  await waitFor(async () => (await loadOf('slow')).waiting === 8);
  expect(await loadOf('slow')).toMatchObject({ running: 1, waiting: 8 });
  expect(await answerTo(await ask('run', 'q1'))).toMatchObject({ content: 'done' });
});

it('tries an agent once after the pause before all come back', async () => {
  let now = 0;
  const limiter = new AgentLimiter({ running: 2, waiting: 2, delegationWaitMs: 1000 }, () => now);
  const { signal } = new AbortController();
  const bad: SkillResult = { content: '', error: 'x', taskState: 'failed', unavailable: true };
  const good: SkillResult = { content: 'ok', taskState: 'completed' };
  for (let count = 0; count < 5; count++) await limiter.run('a', signal, async () => bad);
  expect(limiter.load('a').circuit).toBe('open');
  now = 30_001;
  expect(limiter.load('a').circuit).toBe('half-open');
  const gate = Promise.withResolvers<SkillResult>();
  const trial = limiter.run('a', signal, () => gate.promise);
  expect((await limiter.run('a', signal, async () => good)).taskState).toBe('rejected');
  gate.resolve(bad);
  expect(await trial).toBe(bad);
  expect(limiter.load('a').circuit).toBe('open');
  now = 60_002;
  expect(await limiter.run('a', signal, async () => good)).toBe(good);
  expect(limiter.load('a').circuit).toBe('closed');
  const own: SkillResult = { content: '', error: 'no such file', taskState: 'failed' };
  for (let count = 0; count < 9; count++) await limiter.run('a', signal, async () => own);
  expect(limiter.load('a').circuit).toBe('closed');
});

it('gives up a place in the line when the process stops', async () => {
  const limiter = new AgentLimiter({ running: 1, waiting: 2, delegationWaitMs: 1000 });
  const gate = Promise.withResolvers<SkillResult>();
  const controller = new AbortController();
  const first = limiter.run('a', new AbortController().signal, () => gate.promise);
  const second = limiter.run('a', controller.signal, () => gate.promise);
  controller.abort(new Error('stopping'));
  await expect(second).rejects.toThrow('stopping');
  expect(limiter.load('a')).toMatchObject({ running: 1, waiting: 0 });
  gate.resolve({ content: '', taskState: 'completed' });
  await first;
  expect(limiter.load('a').running).toBe(0);
});
