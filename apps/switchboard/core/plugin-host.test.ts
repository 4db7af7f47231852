import { createEmbeddedBus } from '@trunkline/bus';
import { createLogger } from '@trunkline/config';
import { temporaryDirectory, waitFor } from '@trunkline/testing';
import { Hono } from 'hono';
import { expect, it } from 'vitest';
import { type Json, startSwitchboard } from '../fixtures/start-switchboard.ts';
import type { SwitchboardEnv } from '../routes/guards.ts';
import { type Plugin, type PluginContext, PluginHost } from './plugins.ts';

it('starts plugins in order, goes on without those that fail, and stops them in reverse', async () => {
  const directory = temporaryDirectory();
  const bus = await createEmbeddedBus({ directory: directory.path });
  const errors: unknown[] = [];
  await bus.subscribe('system.error', ({ payload }) => void errors.push(payload));
  const done: string[] = [];
  const plugin = (name: string, more: Partial<Plugin> = {}): Plugin => ({
    name,
    mount: (app) => void app.get(`/${name}`, (context) => context.text(name)),
    start: async () => void done.push(`${name} starts`),
    stop: async () => void done.push(`${name} stops`),
    ...more,
  });
  const failure = async () => {
    throw new Error('no wind');
  };
  const logger = createLogger({ name: 'test', destination: { write: () => true } });
  let problem: string | undefined;
  const host = new PluginHost(
    [
      plugin('first'),
      plugin('quiet', { off: 'set QUIET_TOKEN to switch it on' }),
      plugin('broken', { start: failure }),
      plugin('last', { stop: failure }),
      plugin('end', { problem: () => problem }),
    ],
    { bus, logger } as PluginContext,
  );
  const app = new Hono<SwitchboardEnv>();
  host.mount(app);
  expect((await app.request('/first')).status).toBe(200);
  expect((await app.request('/quiet')).status).toBe(404);
  await host.start();
  expect(host.list()).toEqual([
    { name: 'first', state: 'running' },
    { name: 'quiet', state: 'off', words: 'set QUIET_TOKEN to switch it on' },
    { name: 'broken', state: 'failed', words: 'no wind' },
    { name: 'last', state: 'running' },
    { name: 'end', state: 'running' },
  ]);
  problem = 'nobody listens';
  expect(host.list().at(-1)).toEqual({ name: 'end', state: 'failed', words: 'nobody listens' });
  await waitFor(() => errors.length === 1);
  expect(errors[0]).toEqual({ source: 'plugins', plugin: 'broken', error: 'no wind' });
  await host.stop();
  expect(done).toEqual(['first starts', 'last starts', 'end starts', 'end stops', 'first stops']);
  await bus.stop();
  directory.remove();
});

it('starts a plugin after those that it needs, wherever it stands in the list', async () => {
  const started: string[] = [];
  const plugin = (name: string, after: string[] = []): Plugin => ({
    name,
    after,
    start: async () => void started.push(name),
    stop: async () => void started.push(`no ${name}`),
  });
  const context = {
    logger: createLogger({ name: 'test', destination: { write: () => true } }),
  } as PluginContext;
  const host = new PluginHost(
    [plugin('chat', ['leader', 'mail']), plugin('mail', ['leader']), plugin('leader')],
    context,
  );
  await host.start();
  await host.stop();
  expect(started).toEqual(['leader', 'mail', 'chat', 'no chat', 'no mail', 'no leader']);
  expect(() => new PluginHost([plugin('a', ['b']), plugin('b', ['a'])], context)).toThrow('waits for itself');
  expect(() => new PluginHost([plugin('a', ['gone'])], context)).toThrow('comes after gone');
});

it('runs its plugins and the parts they stand on, and says which are off and why [S002]', async () => {
  const board = await startSwitchboard();
  const { body } = await board.call('/api/plugins');
  const running = body.data.flatMap(({ name, state }: Json) => (state === 'running' ? [name] : []));
  expect(running).toEqual(expect.arrayContaining(['scheduler', 'projects', 'ceremonies', 'onboarding']));
  // Whoever reads the page knows none of the names of the parts inside.
  const inside = body.data.filter(({ kind }: Json) => kind !== 'surface');
  expect(inside.filter(({ description = '' }: Json) => !/^[A-Z].{20,90}\.$/.test(description))).toEqual([]);
  const off = body.data.filter(({ state }: Json) => state === 'off');
  for (const { words } of off) expect(words).toMatch(/^Set [A-Z_]+/);
  const parts = ['agents', 'routes', 'flows', 'changes', 'mcp-servers', 'workspace', 'projects'];
  for (const part of parts) expect((await board.call(`/api/${part}`)).status).toBe(200);
  await board.stop();
});
