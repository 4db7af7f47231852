import { beforeEach, expect, it } from 'vitest';
import { component, ServiceAddress, startComponents } from './components.ts';

let log: string[] = [];
beforeEach(() => {
  log = [];
});

const store = component(
  'store',
  {},
  async () => {
    log.push('start store');
    return { rows: 3 };
  },
  () => void log.push('stop store'),
);
const cache = component(
  'cache',
  { store },
  ({ store: { rows } }) => {
    log.push(`start cache of ${rows}`);
    return 'cache';
  },
  async () => void log.push('stop cache'),
);
const server = component(
  'server',
  { cache, store },
  (values) => `${values.cache} and ${values.store.rows} rows`,
  () => void log.push('stop server'),
);

it('starts each component once after what it needs, and stops it before', async () => {
  const { values, stop } = await startComponents({ server, store });
  expect(values).toEqual({ server: 'cache and 3 rows', store: { rows: 3 } });
  await stop();
  await stop();
  expect(log).toEqual(['start store', 'start cache of 3', 'stop server', 'stop cache', 'stop store']);
});

it('stops a need in the place of the component that names it, and only once', async () => {
  const handlers = component('handlers', { store, cache }, () => 1, 'store');
  const { stop } = await startComponents({ handlers });
  await stop();
  expect(log.slice(2)).toEqual(['stop store', 'stop cache']);
});

it('stops a need in its own place when the component that names it did not start', async () => {
  const handlers = component('handlers', { store, cache }, () => Promise.reject(new Error('no')), 'store');
  await expect(startComponents({ handlers })).rejects.toThrow('no');
  expect(log.slice(2)).toEqual(['stop cache', 'stop store']);
});

it('starts nothing that nobody needs', async () => {
  const { stop } = await startComponents({ store });
  await stop();
  expect(log).toEqual(['start store', 'stop store']);
});

it('stops what runs when a component fails to start, and tells the cause', async () => {
  const broken = component('broken', { cache }, () => Promise.reject(new Error('the port is taken')));
  await expect(startComponents({ broken })).rejects.toThrow('the port is taken');
  expect(log.slice(2)).toEqual(['stop cache', 'stop store']);
});

it('stops the others when one fails to stop', async () => {
  const stuck = component(
    'stuck',
    { store },
    () => 1,
    () => Promise.reject(new Error('no')),
  );
  const { stop } = await startComponents({ stuck });
  await expect(stop()).rejects.toMatchObject({ errors: [{ message: 'failed to stop stuck' }] });
  expect(log).toContain('stop store');
});

it('knows the address of a service once it listens', () => {
  const [own, configured] = [
    new ServiceAddress(),
    new ServiceAddress({ publicUrl: 'https://agent.example' }),
  ];
  expect(() => own.url).toThrow('once the service listens');
  expect(configured.publicUrl).toBe('https://agent.example');
  own.listen('http://127.0.0.1:1');
  expect([own.url, own.publicUrl]).toEqual(['http://127.0.0.1:1', 'http://127.0.0.1:1']);
  expect([own.grpcAddress, configured.grpcAddress]).toEqual([undefined, undefined]);
  configured.listen('http://127.0.0.1:1', 2);
  expect(configured.grpcAddress).toBe('agent.example:2');
});
