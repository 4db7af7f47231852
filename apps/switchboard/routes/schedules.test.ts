import { temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { observe } from '../fixtures/observe.ts';
import { type Json, startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';

const keysFile = `
keys:
  - { name: ava, envKey: AVA_KEY, publish: [command.schedule, cron.ava.#], subscribe: [cron.ava.#] }
`;
const helm = 'name: helm\nrole: general\nsystemPrompt: You answer.\nskills: [{ name: chat }]\n';
const env = { SWITCHBOARD_API_KEY: 'operator-key', AVA_KEY: 'ava-key' };
const admin = { 'x-api-key': 'operator-key' };
const ava = { 'x-api-key': 'ava-key' };
const record = (id: string, more: object = {}) => ({
  id,
  schedule: '0 9 * * *',
  topic: `cron.${id}`,
  payload: { content: 'What time is it?' },
  ...more,
});

let board: TestSwitchboard;
beforeAll(async () => {
  board = await startSwitchboard({ env, files: { 'keys.yaml': keysFile, 'agents/helm.yaml': helm } });
});
afterAll(() => board.stop());

async function request(method: string, path: string, headers: Record<string, string>, body?: unknown) {
  const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
  const response = await board.fetch(`/api/schedules${path}`, init);
  return { status: response.status, body: (await response.json()) as Json };
}

describe('schedules over HTTP', () => {
  it('are added, shown with the next five times, changed and removed', async () => {
    const added = await request('POST', '', admin, record('morning', { timezone: 'UTC' }));
    expect([added.status, added.body.data.schedule.state]).toEqual([201, 'active']);
    expect((await request('POST', '', admin, record('morning'))).status).toBe(409);
    expect((await request('POST', '', admin, record('../../evil'))).status).toBe(400);
    expect((await request('POST', '', admin, record('odd', { schedule: 'soon' }))).body.error).toContain(
      'soon',
    );
    const { body } = await request('GET', '', admin);
    expect(body.data.schedules.find(({ id }: Json) => id === 'morning').next).toHaveLength(5);
    expect(
      (await request('PUT', '/morning', admin, record('morning', { schedule: '0 8 * * *' }))).status,
    ).toBe(200);
    expect((await request('POST', '/morning/pause', admin)).body.data.schedule.state).toBe('paused');
    expect((await request('POST', '/morning/resume', admin)).body.data.schedule.state).toBe('active');
    expect((await request('DELETE', '/morning', admin)).status).toBe(200);
    for (const [method, path] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/pause'],
      ['POST', '/run-now'],
    ] as const)
      expect((await request(method, `/morning${path}`, admin)).status).toBe(404);
    const changes = await board.call('/api/changes', undefined, admin);
    expect(changes.body.data[0]).toMatchObject({ file: 'crons/morning.yaml', after: null, by: 'operator' });
  });

  it('run in the switchboard itself, beside ceremonies and the project registry [S002]', async () => {
    const { body } = await board.call('/api/plugins', undefined, admin);
    const running = body.data.filter(({ state }: Json) => state === 'running').map(({ name }: Json) => name);
    expect(running).toEqual(
      expect.arrayContaining(['scheduler', 'ceremonies', 'projects', 'alerting', 'operator', 'leader']),
    );
    expect((await board.call('/api/cluster', undefined, admin)).body.data).toMatchObject({
      isLeader: true,
      bus: 'embedded',
    });
  });

  it('are previewed', async () => {
    const good = await request('POST', '/preview', admin, { schedule: '*/5 * * * *', timezone: 'UTC' });
    expect(good.body.data.next).toHaveLength(5);
    expect((await request('POST', '/preview', admin, { schedule: '61 * * * *' })).status).toBe(400);
  });

  it('run at once, through an agent to the channel, with the outcome in the history [S014][S071][S116][S128]', async () => {
    const reader = await observeWith(admin);
    const payload = { content: 'Ping', channel: 'messenger', sender: 'ops', skillHint: 'chat' };
    await request('POST', '', admin, record('ping', { payload }));
    const { fireId } = (await request('POST', '/ping/run-now', admin)).body.data;
    expect((await reader.first('cron.ping', fireId)).payload).toMatchObject({
      scheduleId: 'ping',
      content: 'Ping',
    });
    const answer = await reader.first('message.outbound.messenger.ops', fireId);
    expect(answer.payload.taskState).toBe('completed');
    const row = await waitFor(async () => {
      const { history } = (await request('GET', '/ping', admin)).body.data;
      return history[0]?.status === 'done' ? history[0] : undefined;
    });
    expect(row).toMatchObject({ fireId, manual: true });
    reader.close();
  });

  it.each([
    ['cli', 'message.outbound.cli'],
    ['messenger', 'message.outbound.messenger.cron'],
    ['987654', 'message.outbound.chat.push.987654'],
  ])('answer on the channel %s [S014]', async (channel, topic) => {
    const reader = await observeWith(admin);
    const id = `to-${channel}`;
    await request(
      'POST',
      '',
      admin,
      record(id, { payload: { content: 'Ping', channel, skillHint: 'chat' } }),
    );
    const { fireId } = (await request('POST', `/${id}/run-now`, admin)).body.data;
    expect((await reader.first(topic, fireId)).topic).toBe(topic);
    reader.close();
  });

  it('show a scoped key its own, and let it change no others', async () => {
    const own = record('ava-daily', { topic: 'cron.ava.daily' });
    expect((await request('POST', '', ava, own)).status).toBe(201);
    expect((await request('POST', '', ava, record('bob-daily', { topic: 'cron.ava.daily' }))).status).toBe(
      403,
    );
    expect((await request('POST', '', ava, record('ava-two', { topic: 'message.inbound.cli' }))).status).toBe(
      403,
    );
    await request('POST', '', admin, record('bob-daily'));
    expect((await request('GET', '', ava)).body.data.schedules.map(({ id }: Json) => id)).toEqual([
      'ava-daily',
    ]);
    expect((await request('GET', '/bob-daily', ava)).status).toBe(404);
    expect((await request('DELETE', '/bob-daily', ava)).status).toBe(403);
    expect((await request('POST', '/ava-daily/pause', ava)).status).toBe(200);
    expect((await request('DELETE', '/ava-daily', ava)).status).toBe(200);
  });
});

async function observeWith(headers: Record<string, string>) {
  const withKey = {
    ...board,
    fetch: (path: string, init?: RequestInit) => board.fetch(path, { ...init, headers }),
  };
  return await observe(withKey);
}

it('reads a record with a bad topic as a problem of the workspace, and goes on', async () => {
  const home = temporaryDirectory();
  const other = await startSwitchboard({
    home: home.path,
    files: { 'crons/bad.yaml': 'id: bad\nschedule: "* * * * *"\ntopic: a..b\npayload: { content: x }\n' },
  });
  const { body } = await other.call('/api/workspace');
  expect(body.data.problems[0]).toMatchObject({ file: expect.stringContaining('crons/bad.yaml') });
  expect((await other.call('/api/schedules')).body.data.count).toBe(0);
  await other.stop();
  home.remove();
});
