// What one account may fill: its own room, and nobody else's.
import { join } from 'node:path';
import { callersOf, noPeers, type TestCaller, temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { ChangeStore } from './control/change-store.ts';
import { type Json, startSwitchboard, type TestSwitchboard } from './fixtures/start-switchboard.ts';
import { fullWords, withoutOldest } from './incidents/incident-file.ts';

const peers = noPeers();
let board: TestSwitchboard;
let who: ReturnType<typeof callersOf>;

beforeAll(async () => {
  const env = { TRUNKLINE_OPEN: '0', SWITCHBOARD_DAILY_MB: '512' };
  board = await startSwitchboard({ env, peers });
  who = callersOf({ url: board.url, home: board.home, serviceToken: peers.serviceToken });
});
afterAll(() => board.stop());

it('bounds the open incidents of each reporter, and drops their oldest resolved ones', async () => {
  const report = (caller: TestCaller, length = 20_000) =>
    caller('POST /api/incidents', {
      ...{ title: 'It is loud', severity: 'low', description: 'x'.repeat(length) },
    });
  const first = (await report(who.operator)).json<Json>().data.id;
  let refused = await report(who.ava);
  for (let count = 1; refused.status === 201 && count < 30; count += 1) refused = await report(who.ava);
  expect([refused.status, refused.text]).toEqual([429, expect.stringContaining('resolve some')]);
  expect((await report(who.bob)).status).toBe(201);
  expect((await report(who.operator)).status).toBe(201);
  const all = async () => (await who.operator('GET /api/incidents')).json<Json>().data;
  const mine = async () => (await all()).filter((each: Json) => each.reportedBy === 'person:voice:ava');
  const reported = await mine();
  expect(reported).toHaveLength(12);
  const note = { resolutionNote: 'y'.repeat(20_000) };
  for (const { id } of reported)
    expect((await who.ava(`POST /api/incidents/${id}/resolve`, note)).status).toBe(200);
  const left = await mine();
  expect(left).toEqual(reported.slice(-6).map(({ id }: Json) => expect.objectContaining({ id })));
  expect((await all()).map(({ id }: Json) => id)).toContain(first);
  expect((await report(who.ava)).status).toBe(201);
});

it('bounds the number of open incidents of a reporter, and of resolved ones that are kept', () => {
  const incidents = Array.from({ length: 300 }, (_, index) => ({
    ...{ id: `INC-${String(index + 1).padStart(3, '0')}`, title: 'x', severity: 'low' as const },
    ...{ status: index < 200 ? ('resolved' as const) : ('open' as const), reportedAt: '2026-01-01' },
    reportedBy: index % 2 === 0 ? 'person:voice:ava' : 'person:voice:bob',
  }));
  const next = (reportedBy?: string) => ({ ...incidents[299]!, id: 'INC-400', reportedBy });
  expect(fullWords(incidents, next('person:voice:ava'))).toBeUndefined();
  const full = [...incidents, ...incidents.slice(200)];
  expect(fullWords(full, next('person:voice:ava'))).toContain('100 incidents');
  expect(fullWords(full, next())).toBeUndefined();
  expect(withoutOldest(incidents)).toBe(incidents);
  const many = incidents
    .slice(0, 200)
    .flatMap((each, index) => [
      each,
      { ...each, id: `INC-${index + 500}` },
      { ...each, id: `INC-${index + 800}` },
    ]);
  const kept = withoutOldest(many);
  expect(kept).toHaveLength(400);
  expect(kept.map(({ id }) => id)).not.toContain('INC-001');
});

it('bounds the schedules of each owner by their size, and a smaller one may take the place of another', async () => {
  const add = (caller: TestCaller, id: string, length: number) =>
    caller('POST /api/schedules', {
      ...{ id, schedule: '0 9 1 1 *', topic: `cron.${id}`, payload: { content: 'x'.repeat(length) } },
    });
  let count = 0;
  let refused = await add(who.ava, 'ava-0', 500_000);
  while (refused.status === 201 && count < 30) refused = await add(who.ava, `ava-${++count}`, 500_000);
  expect([count, refused.status, refused.text]).toEqual([15, 429, expect.stringContaining('remove some')]);
  expect((await add(who.bob, 'bob-0', 500_000)).status).toBe(201);
  expect((await add(who.operator, 'own-0', 500_000)).status).toBe(201);
  const smaller = { schedule: '0 9 1 1 *', topic: 'cron.ava-0', payload: { content: 'short' } };
  expect((await who.ava('PUT /api/schedules/ava-0', smaller)).status).toBe(200);
  expect((await add(who.ava, 'ava-again', 400_000)).status).toBe(201);
});

it('bounds the questions of each owner that wait, and one that is asked again is no further one', async () => {
  const leaving = new AbortController();
  onTestFinished(() => leaving.abort());
  const ask = (caller: TestCaller, correlationId: string) =>
    fetch(`${board.url}/api/agent/ask-human`, {
      method: 'POST',
      headers: { ...caller.headers, 'content-type': 'application/json' },
      body: JSON.stringify({ correlationId, question: 'Shall I?' }),
      signal: leaving.signal,
    });
  const left = (error: unknown) => {
    if (!leaving.signal.aborted) throw error;
  };
  const pending = async (caller: TestCaller) =>
    (await caller('GET /api/hitl/pending')).json<Json>().data.length as number;
  for (let count = 0; count < 200; count += 1) void ask(who.ava, `ask-${count}`).catch(left);
  await waitFor(async () => (await pending(who.ava)) === 200);
  const refused = await ask(who.ava, 'ask-more');
  expect([refused.status, await refused.text()]).toEqual([429, expect.stringContaining('answer some')]);
  void ask(who.bob, 'ask-0').catch(left);
  await waitFor(async () => (await pending(who.bob)) === 1);
  const again = ask(who.ava, 'ask-0');
  const [{ requestId }] = (await who.ava('GET /api/hitl/pending')).json<Json>().data;
  expect((await who.ava('POST /api/a2a/input', { requestId, answer: 'yes' })).status).toBe(200);
  expect((await again).status).toBe(200);
});

it.each([
  ['so many changes', { changes: 100, bytes: 1e9 }],
  ['so many bytes of texts', { changes: 1e9, bytes: 100_000 }],
])('keeps %s, and whoever has most loses their oldest', (_what, limits) => {
  const home = temporaryDirectory();
  onTestFinished(home.remove);
  const open = () => new ChangeStore(join(home.path, 'changes.db'), { limits });
  let store = open();
  const change = (messageId: string, owner?: string) =>
    store.add({
      ...{
        at: 1,
        by: 'somebody',
        reason: null,
        messageId,
        topic: 'command.schedule',
        kind: 'cron',
        name: 'x',
      },
      ...{ file: 'crons/x.yaml', before: 'b'.repeat(400), after: 'a'.repeat(600), undoes: null, owner },
    });
  const of = (start: string) => store.list(1000).filter(({ messageId }) => messageId.startsWith(start));
  for (let count = 0; count < 30; count += 1) change(`operator-${count}`);
  for (let count = 0; count < 300; count += 1) change(`ava-${count}`, 'person:voice:ava');
  expect([of('operator').length, of('ava')[0]?.messageId]).toEqual([30, 'ava-299']);
  expect(of('ava').length).toBeGreaterThan(60);
  expect(of('ava').length).toBeLessThanOrEqual(70);
  store.close();
  store = open();
  for (let count = 0; count < 300; count += 1) change(`bob-${count}`, 'person:voice:bob');
  expect(of('operator')).toHaveLength(30);
  expect(of('ava').length).toBeGreaterThan(30);
  store.close();
});
