import { FakeClock, type TemporaryDirectory, temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LeaderPlugin } from '../cluster/leader.ts';
import { observe } from '../fixtures/observe.ts';
import { openContext, type TestContext } from '../fixtures/plugin-context.ts';
import { type Json, startSwitchboard } from '../fixtures/start-switchboard.ts';
import { AlertingPlugin } from './plugin.ts';

let place: TemporaryDirectory;
let clock: FakeClock;
let board: TestContext;
let leader: LeaderPlugin;

beforeEach(async () => {
  place = temporaryDirectory();
  clock = new FakeClock('2026-03-02T09:00:00Z');
  board = await openContext(place.path);
  leader = new LeaderPlugin(5000);
  await leader.start(board.context);
  await new AlertingPlugin(leader, clock).start(board.context);
});
afterEach(async () => {
  await leader.stop();
  await board.stop();
  place.remove();
});

const alerts = () => board.on('message.outbound.chat.alert') as Json[];
const fail = (source: string, plugin: string, error = 'it broke', more: object = {}) =>
  board.bus.publish({ topic: 'system.error', payload: { source, plugin, error, ...more } });
const drop = (reason: string, skill: string) =>
  board.bus.publish({
    topic: `dispatch.dropped.${reason}`,
    payload: { skill, agent: null, why: 'nobody has it' },
  });
/** Everything before it has been handled when it has come back. */
async function settled(): Promise<void> {
  const count = board.on('settled').length;
  await board.bus.publish({ topic: 'settled', payload: {} });
  await waitFor(() => board.on('settled').length > count);
}

describe('alerts', () => {
  it('come once a minute for each source and plugin, with the number held back [S140]', async () => {
    for (let count = 0; count < 5; count += 1) await fail('bus', 'router', `failure ${count}`);
    await fail('bus', 'dispatcher');
    await waitFor(() => alerts().length === 2);
    expect(alerts()[0].payload).toMatchObject({ key: 'bus:router', content: 'Error in router: failure 0' });
    await clock.advanceBy(59_999);
    await fail('bus', 'router');
    await settled();
    expect(alerts()).toHaveLength(2);
    await clock.advanceBy(1);
    await fail('bus', 'router', 'still');
    await waitFor(() => alerts().length === 3);
    expect(alerts()[2].payload.content).toBe('Error in router: still (and 5 more since the last alert)');
  });

  it('tell of each loss of the bus at once, whoever leads, and the operator too', async () => {
    await leader.stop();
    const names = ['bus-journal', 'bus-dead', 'KV_bus-progress'];
    for (const stream of names) await fail('bus', 'bus', `${stream} had vanished.`, { stream });
    await waitFor(() => alerts().length === 3);
    expect(alerts().map(({ payload }) => payload)).toEqual(
      names.map((stream) => ({
        key: `lost:${stream}`,
        severity: 'critical',
        content: `${stream} had vanished.`,
      })),
    );
    await waitFor(() => board.on('operator.message.request').length === 3);
  });

  it('do not take the words of a caller for those of the bus', async () => {
    for (const stream of ['one', 'two', 'three'])
      await board.bus.publish({
        topic: 'system.error',
        payload: { source: 'caller', error: `${stream} had vanished.`, stream },
        principal: { kind: 'person', id: 'mallory', via: [] },
      });
    await waitFor(() => alerts().length > 0);
    await settled();
    expect(alerts().map(({ payload }) => [payload.severity, payload.key])).toEqual([['medium', 'caller:']]);
    expect(board.on('operator.message.request')).toEqual([]);
  });

  it('do not follow from alerts that could not be posted', async () => {
    await fail('deliveries', 'chat', 'no such channel', { topic: 'message.outbound.chat.alert' });
    await settled();
    expect(alerts()).toEqual([]);
  });

  it('escalate a storm of drops once, and again only after it was over', async () => {
    for (let count = 0; count < 9; count += 1) await drop('no_skill', 'paint');
    await drop('cooldown', 'paint');
    await settled();
    expect(alerts()).toEqual([]);
    for (let count = 0; count < 5; count += 1) await drop('no_skill', 'paint');
    await waitFor(() => alerts().length === 1);
    expect(alerts()[0].payload).toMatchObject({ severity: 'high', key: 'no_skill:paint:' });
    await waitFor(() => board.on('operator.message.request').length === 1);
    await clock.advanceBy(5 * 60_000);
    for (let count = 0; count < 12; count += 1) await drop('no_skill', 'paint');
    await settled();
    expect(alerts()).toHaveLength(1);
    await clock.advanceBy(10 * 60_000);
    for (let count = 0; count < 10; count += 1) await drop('no_skill', 'paint');
    await waitFor(() => alerts().length === 2);
  });

  it('tell of incidents, and the operator of grave ones [S138]', async () => {
    const payload = { id: 'INC-007', title: 'Key leaked', severity: 'critical' };
    await board.bus.publish({ topic: 'security.incident.reported', payload });
    await board.bus.publish({
      topic: 'security.incident.reported',
      payload: { ...payload, id: 'INC-008', severity: 'low' },
    });
    await waitFor(() => alerts().length === 2);
    expect(alerts()[0].payload).toMatchObject({
      severity: 'critical',
      content: 'Incident INC-007 (critical): Key leaked',
    });
    await settled();
    expect(board.on('operator.message.request')).toHaveLength(1);
  });
});

it('shows alerts of a running switchboard, with the incidents that made them', async () => {
  const service = await startSwitchboard();
  const seen = await observe(service);
  await service.call('/api/incidents', { title: 'Disk full', severity: 'medium' });
  await seen.first('message.outbound.chat.alert');
  const { body } = await service.call('/api/alerts');
  expect(body.data[0]).toMatchObject({ severity: 'medium', content: expect.stringContaining('Disk full') });
  // A high one is told to the operator too, on the same topic: it is listed once, with its severity.
  await service.call('/api/incidents', { title: 'Key leaked', severity: 'high' });
  await waitFor(
    () => seen.messages.filter(({ topic }) => topic === 'message.outbound.chat.alert').length === 3,
  );
  const { data } = (await service.call('/api/alerts')).body;
  expect(data).toMatchObject([{ severity: 'high' }, { severity: 'medium' }]);
  seen.close();
  await service.stop();
});
