import { waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ExecutorRegistry } from '../dispatch/registry.ts';
import { agent } from '../fixtures/crew.ts';
import { type Observer, observe } from '../fixtures/observe.ts';
import { type Json, startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';
import type { Project } from '../projects/registry.ts';
import { routeSchema } from '../workspace/schema/agent.ts';
import { channelsSchema, fleetSchema } from '../workspace/schema/channels.ts';
import { Conversations, decide, inOrder, projectChannel, routesFor } from './decide.ts';

describe('route runner', () => {
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
});

const route = (name: string, topic: string, more: object = {}) =>
  // biome-ignore lint/suspicious/noThenProperty: the contract of the file names it so, and nothing awaits it.
  routeSchema.parse({ name, when: { topic }, then: { skill: 'chat' }, ...more });
const names = (routes: { name: string }[]) => routes.map(({ name }) => name);

const all = [
  route('wide', 'deploy.#'),
  route('any-result', 'deploy.web.*'),
  route('z-exact', 'deploy.web.failed'),
  route('a-exact', 'deploy.web.failed'),
  route('end', 'deploy'),
  route('picky', 'deploy.web.failed', { when: { topic: 'deploy.web.failed', match: { env: 'live' } } }),
  route('urgent', 'deploy.#', { priority: 5 }),
  route('late', 'deploy.web.failed', { priority: -1 }),
];

it('orders by priority, then by how specific the pattern is, then by name, however the files came', () => {
  const expected = ['urgent', 'picky', 'a-exact', 'z-exact', 'any-result', 'end', 'wide', 'late'];
  expect(names(inOrder(all))).toEqual(expected);
  expect(names(inOrder(all.toReversed()))).toEqual(expected);
});

it('runs all that match, up to one that stops', () => {
  const message = { topic: 'deploy.web.failed', payload: {} };
  const running = (routes = all, isSent = false) => names(routesFor(message, routes, { isSent }));
  expect(running()).toEqual(['urgent', 'a-exact', 'z-exact', 'any-result', 'wide', 'late']);
  const stopping = all.map((each) => (each.name === 'z-exact' ? { ...each, stop: true } : each));
  expect(running(stopping)).toEqual(['urgent', 'a-exact', 'z-exact']);
  expect(running(all, true)).toEqual(['urgent']);
  const goingOn = all.map((each) => (each.name === 'urgent' ? { ...each, stop: false } : each));
  expect(running(goingOn, true)).toEqual(['urgent', 'a-exact']);
});

it('takes only what matches and is on', () => {
  const message = { topic: 'deploy.web.failed', payload: { env: 'live' } };
  const off = [route('off', 'deploy.#', { enabled: false }), ...all];
  expect(names(routesFor(message, off, { isSent: false }))).toEqual([
    'urgent',
    'picky',
    'a-exact',
    'z-exact',
    'any-result',
    'wide',
    'late',
  ]);
});

const project: Project = {
  id: 'p1',
  name: 'Sea',
  slug: 'sea',
  path: '/srv/sea',
  github: { owner: 'Acme', repo: 'sea.map' },
  defaultBranch: 'main',
};
const { channels } = channelsSchema(['chat', 'tracker', 'cloud']).parse({
  channels: [
    { id: 'sea-dev', platform: 'chat', channelId: '1', project: 'sea', kind: 'dev', agent: 'mate' },
    { id: 'sea-alerts', platform: 'chat', channelId: '2', project: 'sea', kind: 'alerts' },
  ],
});

it('leads from a repository to its project and to the channel for what it is about', () => {
  const find = (payload: object) => projectChannel(payload, [project], channels);
  expect(find({ repo: { owner: 'acme', repo: 'sea.map' } })).toMatchObject({ channel: { id: 'sea-dev' } });
  expect(find({ repo: 'Acme/sea.map', kind: 'alerts' })).toMatchObject({ channel: { id: 'sea-alerts' } });
  expect(find({ repo: 'Acme/sea.map', kind: 'releases' })).toEqual({ project, channel: undefined });
  expect(find({ repo: 'Acme/other' })).toBeUndefined();
  expect(find({ content: 'no repository' })).toBeUndefined();
});

it('brings what a repository tells to the agent of its channel', () => {
  const registry = new ExecutorRegistry();
  registry.replace('test', [
    {
      agent: 'mate',
      type: 'in-process',
      skills: [{ name: 'steer', description: '', keywords: [] }],
      execute: async () => ({ content: '', taskState: 'completed' }),
    },
  ]);
  const workspace = { routes: () => [], channels: () => channels, fleet: () => fleetSchema.parse({}) };
  const conversations = new Conversations({ talk: () => undefined, hold: () => 'c' });
  const deps = {
    registry,
    workspace,
    projects: { list: () => [project] },
    conversations,
    defaultSkill: undefined,
  };
  const topic = 'message.inbound.codehost.acme.sea';
  const first = (payload: object) => decide({ topic, payload }, deps)[0];
  expect(first({ repo: 'acme/sea.map', content: 'x' })).toMatchObject({
    agent: 'mate',
    skill: 'steer',
    rule: 'project',
    why: 'the channel sea-dev of the project sea belongs to mate',
  });
  const alert = { repo: 'acme/sea.map', kind: 'alerts', content: 'x' };
  expect(first(alert).skill).toBeUndefined();
});
