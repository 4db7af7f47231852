import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Logger, secretReference, secretStoreOf } from '@trunkline/config';
import { temporaryDirectory, waitFor } from '@trunkline/testing';
import { expect, it, onTestFinished, vi } from 'vitest';
import { RestartingService, watchSettings } from './restart.ts';
import { isServedAt, neighbours, recordRunning, runningProcesses } from './running.ts';

it('finds the processes of a home, whatever else lies beside their records', () => {
  const home = temporaryDirectory();
  onTestFinished(home.remove);
  const folder = join(home.path, 'running');
  mkdirSync(join(folder, 'stray'), { recursive: true });
  const record = { pid: process.ppid, urls: ['http://127.0.0.1:1'] };
  writeFileSync(join(folder, 'a.json'), JSON.stringify(record));
  writeFileSync(join(folder, 'b.json'), 'broken');
  expect(runningProcesses(home.path)).toEqual([record]);
});

it('passes over records that are odd, and removes only those of processes that are gone', async () => {
  const home = temporaryDirectory();
  onTestFinished(home.remove);
  const folder = join(home.path, 'running');
  mkdirSync(folder);
  const { pid: gone } = spawnSync(process.execPath, ['--version']);
  const records = {
    'more-names.json': { pid: process.ppid, urls: [], names: ['agent'] },
    'no-address.json': { pid: process.ppid, urls: [''], names: ['agent'] },
    'gone.json': { pid: gone, urls: ['http://127.0.0.1:1'], names: ['agent'] },
  };
  for (const [name, record] of Object.entries(records))
    writeFileSync(join(folder, name), JSON.stringify(record));
  // A record that another version is just writing.
  writeFileSync(join(folder, 'half.json'), '{"pid":');
  expect(isServedAt(home.path, 'http://127.0.0.1:1')).toBe(false);
  expect(await neighbours(home.path)).toEqual([]);
  expect(readdirSync(folder).sort()).toEqual(['half.json', 'more-names.json', 'no-address.json']);
});

it('records its own process until it is told to stop', async () => {
  const home = temporaryDirectory();
  onTestFinished(home.remove);
  const record = await recordRunning(home.path, [{ name: 'agent', url: 'http://127.0.0.1:7870' }]);
  expect(isServedAt(home.path, 'http://127.0.0.1:7870/operator')).toBe(true);
  expect(await neighbours(home.path)).toEqual([]);
  record.remove();
  expect(existsSync(join(home.path, 'running', `${process.pid}.json`))).toBe(false);
});

const ignore = () => undefined;
const logger: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore, child: () => logger };

interface Options {
  port: number;
  word: string;
}

/** A service that cannot start while `isBroken`. */
async function startWords(url = 'http://127.0.0.1:4567') {
  const state = { isBroken: false, starts: [] as Options[] };
  const start = async (options: Options) => {
    state.starts.push(options);
    if (state.isBroken) throw new Error('broken');
    return { url, word: options.word, stop: async () => undefined };
  };
  const service = await RestartingService.start({ port: 0, word: 'one' }, { start, logger });
  return { state, service };
}

it('a service that can start with nothing tries again, keeps nobody waiting, and takes newer options', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { state, service } = await startWords();
  state.isBroken = true;
  await service.restart({ port: 0, word: 'two' });
  expect([service.running, service.problem]).toEqual([undefined, 'broken']);
  await vi.advanceTimersByTimeAsync(1000);
  expect(state.starts.map(({ word }) => word)).toEqual(['one', 'two', 'one', 'two', 'one']);
  state.isBroken = false;
  await vi.advanceTimersByTimeAsync(2000);
  expect([service.running?.word, service.problem]).toEqual(['two', undefined]);

  state.isBroken = true;
  await service.restart({ port: 0, word: 'three' });
  state.isBroken = false;
  await service.restart({ port: 0, word: 'four' });
  expect([service.running?.word, service.problem]).toEqual(['four', undefined]);

  state.isBroken = true;
  await service.restart({ port: 0, word: 'five' });
  state.isBroken = false;
  await service.restart({ port: 0, word: 'four' });
  expect([service.running?.word, service.problem]).toEqual(['four', undefined]);

  state.isBroken = true;
  await service.restart({ port: 0, word: 'six' });
  await service.stop();
  const { length } = state.starts;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(state.starts).toHaveLength(length);
});

it.each([
  ['http://127.0.0.1', 80],
  ['https://127.0.0.1', 443],
  ['http://127.0.0.1:4567', 4567],
])('comes back at %s', async (url, port) => {
  const { state, service } = await startWords(url);
  await service.restart({ port: 0, word: 'two' });
  expect(state.starts.at(-1)).toEqual({ port, word: 'two' });
});

it('a new value of a secret that settings.yaml names counts, whatever home the environment names', async () => {
  const home = temporaryDirectory();
  onTestFinished(home.remove);
  const secrets = secretStoreOf({ TRUNKLINE_HOME: home.path });
  secrets.set('key', 'sesame');
  writeFileSync(join(home.path, 'settings.yaml'), `LLM_API_KEY: ${secretReference('key')}\n`);
  let changes = 0;
  const watch = await watchSettings(home.path, {
    env: { TRUNKLINE_HOME: join(home.path, 'other') },
    onChange: async () => void changes++,
    onError: (error) => expect.fail(error.message),
  });
  onTestFinished(() => watch.close());
  secrets.set('key', 'sesame-other');
  await waitFor(() => changes > 0);
});
