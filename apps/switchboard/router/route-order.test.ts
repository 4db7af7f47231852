import { expect, it } from 'vitest';
import { routeSchema } from '../workspace/schema/agent.ts';
import { inOrder, routesFor } from './route-order.ts';

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
