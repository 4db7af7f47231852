import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createLogger, readOptions } from '@trunkline/config';
import { freePort, temporaryHome, waitFor } from '@trunkline/testing';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { upOptions } from '../options.ts';
import { type FleetSettings, startFleet } from './fleet.ts';

const home = temporaryHome();
const ports = { VOICE_PORT: '0', AGENT_PORT: '0', RESEARCH_PORT: '0', SWITCHBOARD_PORT: '0' };
const quiet = { LLM_GATEWAY_URL: '', SMART_TURN: 'off', TRUNKLINE_SANDBOX: 'off' };
const logger = createLogger({ name: 'trunkline', level: 'ERROR', destination: { write: () => true } });
afterAll(home.remove);

async function start(variables: object = {}, more: Partial<FleetSettings> = {}) {
  const env = { ...home.environment, ...ports, ...quiet, ...variables };
  const options = readOptions(upOptions, { env });
  const fleet = await startFleet({ options, env, logger, hide: () => undefined, ...more });
  onTestFinished(() => fleet.stop());
  return fleet;
}

async function takenPort(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  onTestFinished(async () => void (await server[Symbol.asyncDispose]()));
  await once(server, 'listening');
  return String((server.address() as AddressInfo).port);
}

describe('the services of one process', () => {
  it.each(['SWITCHBOARD_PORT', 'AGENT_PORT', 'RESEARCH_PORT', 'VOICE_PORT'])(
    'that cannot all start leave nothing running: %s',
    async (variable) => {
      await expect(start({ [variable]: await takenPort() })).rejects.toThrow(variable);
      // No second process may work on their data while one of them runs.
      await start();
    },
  );

  it('name the first of those that cannot start', async () => {
    const taken = { SWITCHBOARD_PORT: await takenPort(), VOICE_PORT: await takenPort() };
    await expect(start(taken)).rejects.toThrow('SWITCHBOARD_PORT');
  });

  it('warn before a failed start of what its introduction would have said', async () => {
    const lines: string[] = [];
    const destination = { write: (line: string) => lines.push(line) };
    const warned = () => new Set(lines.flatMap((line) => JSON.parse(line).opens ?? []));
    const more = { logger: createLogger({ name: 'trunkline', level: 'WARNING', destination }) };
    await expect(start({ VOICE_PORT: await takenPort() }, more)).rejects.toThrow('VOICE_PORT');
    expect(warned()).toEqual(new Set(['SWITCHBOARD_API_KEY', 'A2A_ALLOWED_ORIGINS', 'A2A_AUTH_TOKEN']));
    lines.length = 0;
    await start({}, more);
    expect(warned()).toEqual(new Set());
  });

  it('stand in the order in which they depend on each other, whichever starts first', async () => {
    const fleet = await start();
    expect(fleet.members.map(({ name }) => name)).toEqual(['switchboard', 'agent', 'research', 'voice']);
    const agent = fleet.members.find(({ name }) => name === 'agent')?.url;
    const { delegates } = await (await fetch(`${agent}/api/delegates`)).json();
    expect(delegates.map(({ name }: { name: string }) => name)).toEqual(['research', 'voice']);
  });

  it('let nobody in without a key while the one that asks for it has not started', async () => {
    const guarded = temporaryHome();
    const folder = join(guarded.path, '.trunkline/switchboard/workspace');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'keys.yaml'), 'keys: [{ name: ci, envKey: CI_KEY }]\n');
    const port = String(await freePort());
    const closed = { ...guarded.environment, TRUNKLINE_OPEN: '', CI_KEY: 'a-long-random-text-of-ci' };
    const started = start({ ...closed, VOICE_PORT: port });
    let isStarting = true;
    const ended = started.finally(() => {
      isStarting = false;
    });
    onTestFinished(guarded.remove);
    const statuses: number[] = [];
    const ask = async () => (await fetch(`http://127.0.0.1:${port}/api/whoami`)).status;
    // Nobody listens at first.
    while (isStarting)
      await ask().then(
        (status) => statuses.push(status),
        () => undefined,
      );
    await ended;
    expect(new Set([...statuses, await ask()])).toEqual(new Set([401]));
  });

  it('ask each other for their cards once the start is announced', async () => {
    const later: (() => void)[] = [];
    const fresh = temporaryHome();
    onTestFinished(fresh.remove);
    const fleet = await start(fresh.environment, { afterAnnouncement: (task) => later.push(task) });
    const skills = async () => {
      const { data } = await (await fetch(`${fleet.url}/api/agents`)).json();
      return data.map(({ name, skills }: { name: string; skills: object[] }) => [name, skills.length > 0]);
    };
    expect(new Map(await skills()).get('research') ?? false).toBe(false);
    for (const task of later) task();
    await waitFor(async () => new Map(await skills()).get('research') === true);
    // Nobody is told that the card of their own service was not checked.
    const { data } = await (await fetch(`${fleet.url}/api/agents`)).json();
    const own = data.find(({ name }: { name: string }) => name === 'research');
    expect(own.sighting).toEqual({ reachable: true, at: expect.any(Number) });
  });
});
