import { waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { agent } from '../fixtures/crew.ts';
import { type Observer, observe } from '../fixtures/observe.ts';
import { type Json, startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';

let board: TestSwitchboard;
let seen: Observer;
const skills = 'skills: [{ name: one }, { name: two }, { name: three }]';
const file = (name: string, topic: string, skill: string, more = '') =>
  `name: ${name}\nwhen: { topic: ${topic} }\nthen: { skill: ${skill}, topic: message.outbound.cli }\n${more}`;

beforeAll(async () => {
  board = await startSwitchboard({
    files: {
      'agents/helm.yaml': agent('helm', `role: general\n${skills}`),
      'routes.d/a-wide.yaml': file('a-wide', 'build.#', 'three'),
      'routes.d/b-exact.yaml': file('b-exact', 'build.done', 'two'),
      'routes.d/c-first.yaml': file('c-first', 'build.*', 'one', 'priority: 1'),
      'routes.d/d-gate.yaml': file('d-gate', 'gate.done', 'one', 'stop: true'),
      'routes.d/e-behind.yaml': file('e-behind', 'gate.#', 'two'),
      'routes.d/f-inbound.yaml': file('f-inbound', 'message.inbound.ci', 'three'),
      'routes.d/g-inbound.yaml': file('g-inbound', 'message.inbound.#', 'two'),
    },
  });
  seen = await observe(board);
});
afterAll(async () => {
  seen.close();
  await board.stop();
});

const dryRun = async (topic: string, payload: object = {}) =>
  (await board.call('/api/routes/test', { topic, payload })).body.data;
const routesOf = (runs: Json[]) => runs.map(({ route }) => route);
const publish = (topic: string, correlationId: string) =>
  board.call('/publish', { topic, payload: { content: 'x' }, correlationId });
const asked = (correlationId: string) =>
  seen.messages
    .filter((message) => message.topic === 'agent.skill.request' && message.correlationId === correlationId)
    .map(({ payload }) => payload.skillHint);

it('all routes of a topic run, in the order that the dry run names', async () => {
  const { runs, ...first } = await dryRun('build.done');
  expect(routesOf(runs)).toEqual(['c-first', 'b-exact', 'a-wide']);
  expect(first).toMatchObject({ dispatched: true, skill: 'one', rule: 'route', route: 'c-first' });
  await publish('build.done', 'b1');
  await waitFor(() => asked('b1').length === 3);
  expect(asked('b1')).toEqual(['one', 'two', 'three']);
});

it('none runs after one that stops', async () => {
  expect(routesOf((await dryRun('gate.done')).runs)).toEqual(['d-gate']);
  await publish('gate.done', 'g1');
  await publish('gate.other', 'g2');
  await waitFor(() => asked('g1').length > 0 && asked('g2').length > 0);
  // Behind them on both subscriptions: what would run in vain has run by then.
  await publish('gate.done', 'g3');
  await publish('gate.other', 'g4');
  await waitFor(() => asked('g3').length > 0 && asked('g4').length > 0);
  expect([asked('g1'), asked('g2')]).toEqual([['one'], ['two']]);
});

it('somebody who waits for an answer gets one, and a skill that is named wins over routes', async () => {
  expect(routesOf((await dryRun('message.inbound.ci')).runs)).toEqual(['f-inbound']);
  expect(await dryRun('message.inbound.ci', { skillHint: 'one' })).toMatchObject({
    skill: 'one',
    rule: 'skill-hint',
  });
});

it('the list has the same order', async () => {
  const { data } = (await board.call('/api/routes')).body;
  expect(data.map(({ name }: Json) => name)).toEqual([
    'c-first',
    'f-inbound',
    'b-exact',
    'd-gate',
    'g-inbound',
    'a-wide',
    'e-behind',
  ]);
});
