import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { anonymous } from '@trunkline/identity';
import { FakeClock, type TemporaryDirectory, temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { LeaderPlugin } from '../cluster/leader.ts';
import { observe } from '../fixtures/observe.ts';
import { openContext, type TestContext } from '../fixtures/plugin-context.ts';
import { type Json, startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';
import type { Ceremony } from '../workspace/schema/agent.ts';
import { CeremonyPlugin } from './plugin.ts';

const standup: Ceremony = {
  id: 'standup',
  name: 'Stand-up',
  description: 'Tell what was done.',
  schedule: '0 9 * * *',
  skill: 'report',
  targets: ['ava', 'bob'],
  notifyChannel: '77',
  enabled: true,
};

describe('a ceremony', () => {
  let place: TemporaryDirectory;
  let clock: FakeClock;
  let board: TestContext;
  let leader: LeaderPlugin;
  let plugin: CeremonyPlugin;
  let ceremonies: Ceremony[];

  beforeEach(async () => {
    place = temporaryDirectory();
    clock = new FakeClock('2026-03-02T08:59:30Z');
    ceremonies = [standup];
    await open();
  });
  afterEach(async () => {
    await close();
    place.remove();
  });

  async function open() {
    board = await openContext(place.path, { ceremonies: () => ceremonies });
    leader = new LeaderPlugin(5000);
    plugin = new CeremonyPlugin(leader, clock);
    await leader.start(board.context);
    await plugin.start(board.context);
    await clock.advanceBy(0);
  }
  async function close() {
    await plugin.stop();
    await leader.stop();
    await board.stop();
  }
  const requests = () => board.on('agent.skill.request') as Json[];
  const completed = () => board.on('ceremony.standup.completed') as Json[];
  const reply = ({ reply: { topic }, id, correlationId }: Json, payload: object) =>
    board.bus.publish({ topic, correlationId, parentId: id, payload });
  const run = async () => (await plugin.run('standup', 'tester', anonymous))?.runId as string;

  it('is performed at its time in UTC by all its agents, and told when all have answered [S142][S157]', async () => {
    await clock.advanceTo('2026-03-02T09:00:00Z');
    await waitFor(() => requests().length === 2);
    expect(board.on('ceremony.standup.execute')).toHaveLength(1);
    expect(requests().map(({ payload }) => [payload.skillHint, payload.agent, payload.content])).toEqual([
      ['report', 'ava', 'Tell what was done.'],
      ['report', 'bob', 'Tell what was done.'],
    ]);
    await reply(requests()[0], { content: 'A did this.', taskState: 'completed' });
    const file = { id: 'f1', name: 'Ships.svg', mediaType: 'image/svg+xml', size: 9 };
    await reply(requests()[1], { content: 'B did that.', taskState: 'completed', files: [file] });
    await waitFor(() => completed().length === 1);
    const { runId } = requests()[0].payload;
    expect(completed()[0].payload.outcome).toMatchObject({ runId, status: 'success' });
    await waitFor(() => board.on('message.outbound.chat.push.77').length === 1);
    const [notice] = board.on('message.outbound.chat.push.77') as Json[];
    expect(notice.payload.content).toContain('B did that.\n(Made: Ships.svg)');
    // The surface reads them on behalf of whoever the agents worked for.
    expect([notice.payload.files, notice.principal]).toEqual([[file], requests()[0].principal]);
    await waitFor(() => plugin.list()[0]?.lastRun?.status === 'success');
    expect(plugin.list()[0]?.nextRun).toBe('2026-03-03T09:00:00.000Z');
  });

  it('fails when one of them does', async () => {
    const runId = await run();
    await waitFor(() => requests().length === 2);
    await reply(requests()[0], { content: '', error: 'no access', taskState: 'failed' });
    await reply(requests()[1], { content: 'fine' });
    await waitFor(() => completed().length === 1);
    expect(completed()[0].payload.outcome).toMatchObject({ runId, status: 'failure', detail: 'no access' });
  });

  it('ends after ten minutes without an answer', async () => {
    const runId = await run();
    await waitFor(() => requests().length === 2);
    await clock.advanceBy(599_000);
    expect(completed()).toEqual([]);
    await clock.advanceBy(1000);
    await waitFor(() => completed().length === 1);
    expect(completed()[0].payload.outcome).toMatchObject({ runId, status: 'timeout' });
  });

  it('goes on after a restart, and asks nobody twice', async () => {
    await run();
    await waitFor(() => requests().length === 2);
    const asked = requests();
    await reply(asked[0], { content: 'one' });
    await close();
    await open();
    await waitFor(() => plugin.runs('standup', 1)[0]?.status === 'running');
    expect(requests()).toEqual([]);
    await reply(asked[1], { content: 'two' });
    await waitFor(() => completed().length === 1);
    expect(completed()[0].payload.outcome).toMatchObject({ status: 'success', detail: 'one\n\ntwo' });
  });

  it('that nobody wrote fails with words, and one that is off does not run by itself', async () => {
    await board.bus.publish({ topic: 'ceremony.nope.execute', payload: { runId: 'r1' } });
    await waitFor(() => board.on('ceremony.nope.completed').length === 1);
    expect((board.on('ceremony.nope.completed')[0] as Json).payload.outcome.detail).toContain(
      'ceremonies/nope.yaml',
    );
    expect(await plugin.run('nope', 'me', anonymous)).toBeUndefined();
    await close();
    ceremonies = [{ ...standup, enabled: false }];
    await open();
    await clock.advanceBy(86_400_000);
    expect(requests()).toEqual([]);
    expect(plugin.list()[0]?.nextRun).toBeNull();
  });
});

it('runs through the agents of the workspace, over HTTP [S142]', async () => {
  const board = await startSwitchboard({
    files: {
      'agents/helm.yaml': 'name: helm\nrole: general\nsystemPrompt: You answer.\nskills: [{ name: chat }]\n',
      'ceremonies/retro.yaml': 'id: retro\nname: Retro\nschedule: "0 9 * * 1"\nskill: chat\n',
    },
  });
  const seen = await observe(board);
  expect((await board.call('/api/ceremonies')).body.data).toMatchObject([{ id: 'retro', lastRun: null }]);
  const { status, body } = await board.call('/api/ceremonies/retro/run', {});
  expect(status).toBe(202);
  const done = await seen.first('ceremony.retro.completed', body.data.runId);
  expect(done.payload.outcome).toMatchObject({ runId: body.data.runId, status: 'success' });
  expect((await board.call('/api/ceremonies/retro')).body.data.runs[0].runId).toBe(body.data.runId);
  expect((await board.call('/api/ceremonies/none/run', {})).status).toBe(404);
  board.write(
    'ceremonies/retro.yaml',
    'id: retro\nname: Retro\nschedule: "2026-01-01T00:00:00Z"\nskill: chat\n',
  );
  await waitFor(async () => (await board.call('/api/workspace')).body.data.problems.length === 1);
  seen.close();
  await board.stop();
});

describe('write', () => {
  let board: TestSwitchboard;
  beforeAll(async () => {
    board = await startSwitchboard();
  });
  afterAll(() => board.stop());

  const retro = { id: 'retro', name: 'Retrospective', schedule: '0 15 * * 5', skill: 'chat' };
  const send = async (method: string, path: string, body?: Json) => {
    const response = await board.fetch(path, { method, ...(body && { body: JSON.stringify(body) }) });
    return { status: response.status, body: (await response.json()) as Json };
  };
  const listed = async (): Promise<Json[]> => (await board.call('/api/ceremonies')).body.data;
  const file = () => join(board.workspace, 'ceremonies/retro.yaml');

  it('is added, replaced and removed by commands that are on record, and its removal is taken back', async () => {
    expect(await send('POST', '/api/ceremonies', retro)).toMatchObject({
      status: 201,
      body: { data: { name: 'retro' } },
    });
    expect(await board.call('/api/ceremonies/retro')).toMatchObject({
      status: 200,
      body: { data: { runs: [] } },
    });
    expect((await board.call('/api/ceremonies/none')).status).toBe(404);
    expect((await board.call('/api/ceremonies/..%2Fkeys')).status).toBe(404);
    await waitFor(async () => (await listed())[0]?.nextRun !== undefined);
    expect((await send('POST', '/api/ceremonies', retro)).status).toBe(409);
    expect((await send('PUT', '/api/ceremonies/retro', { ...retro, targets: ['helm'] })).status).toBe(200);
    await waitFor(async () => (await listed())[0]?.targets[0] === 'helm');
    expect((await send('DELETE', '/api/ceremonies/retro')).status).toBe(200);
    expect(existsSync(file())).toBe(false);
    expect((await send('DELETE', '/api/ceremonies/retro')).status).toBe(404);
    await waitFor(async () => (await listed()).length === 0);
    const { data } = (await board.call('/api/changes?kind=ceremony&name=retro')).body;
    expect(data.map(({ topic }: Json) => topic)).toEqual([
      'command.ceremony.remove',
      'command.ceremony.upsert',
      'command.ceremony.upsert',
    ]);
    expect((await board.call(`/api/changes/${data[0].id}/undo`, {})).status).toBe(200);
    await waitFor(async () => (await listed())[0]?.id === 'retro');
  });

  it.each([
    [{ ...retro, id: '../evil' }, 'id'],
    [{ ...retro, id: 'late', schedule: 'soon' }, 'schedule'],
    [{ ...retro, id: 'late', schedule: '0 0 15 * * 5' }, 'has 6 fields'],
    [{ ...retro, id: 'late', skil: 'chat' }, 'skil'],
  ])('is refused in words: %j', async (entry, words) => {
    const { status, body } = await send('POST', '/api/ceremonies', entry);
    expect([status, body.error]).toEqual([400, expect.stringContaining(words)]);
  });

  it('is read, checked line by line and replaced as text', async () => {
    const path = '/api/workspace/files/ceremony/retro';
    const { text } = (await board.call(path)).body.data;
    const check = async (given: string) =>
      (await board.call(`${path}/check`, { text: given })).body.data.problems;
    expect(await check(text)).toEqual([]);
    expect(await check(text.replace('0 15 * * 5', 'soon'))).toMatchObject([{ line: 3 }]);
    expect(await check(text.replace('id: retro', 'id: other'))).toMatchObject([
      { message: 'ceremonies/retro.yaml: its id must be retro.' },
    ]);
    const put = await send('PUT', path, { text: `# Fridays\n${text}` });
    expect(put.status).toBe(200);
    expect(readFileSync(file(), 'utf8')).toContain('# Fridays');
  });
});
