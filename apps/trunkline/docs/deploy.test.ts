import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { externalAgentsSchema, loadDelegates } from '@trunkline/a2a';
import { loadYaml } from '@trunkline/config';
import { describe, expect, it } from 'vitest';
import { optionTables } from '../options.ts';
import { root } from './blocks.suite.ts';
import { interpolate, readCompose, readImage, secrets } from './compose.suite.ts';

const services = readCompose();
const own = ['voice', 'agent', 'research', 'switchboard'];
const values = Object.values(services).flatMap(({ environment }) => Object.values(environment));

it('the compose file runs the services, each with variables that there are', () => {
  expect(Object.keys(services)).toEqual([...own, 'nats', 'searxng']);
  const known = optionTables.flatMap(({ options }) => Object.values(options).flatMap(({ env }) => env));
  const others = ['VOICE_KEY', 'PEER_RESEARCH_URL', 'PEER_RESEARCH_TOKEN'];
  const set = own.flatMap((name) => Object.keys(services[name]?.environment ?? {}));
  expect(set.length).toBeGreaterThan(15);
  expect(set.filter((name) => !known.includes(name) && !others.includes(name))).toEqual([]);
});

describe('secrets of the compose file', () => {
  const all = Object.fromEntries(secrets.map((name) => [name, `made-${name}`]));
  const start = (env: Record<string, string>) => values.map((value) => interpolate(value, env));

  it.each(secrets)('it does not start without %s, and has no default for it', (name) => {
    expect(() => start({ ...all, [name]: '' })).toThrow(`${name} is missing: set ${name} in .env`);
    expect(() => start(all)).not.toThrow();
    const defaults = values.filter((value) => new RegExp(`\\$\\{${name}:?-`).test(value));
    expect(defaults).toEqual([]);
  });

  it('each goes where it belongs: SearXNG and NATS know no token of Trunkline', () => {
    const given = (name: string) =>
      secrets.filter((secret) =>
        Object.values(services[name]?.environment ?? {})
          .join()
          .includes(secret),
      );
    expect(given('searxng')).toEqual(['SEARXNG_SECRET']);
    expect(given('nats')).toEqual(['NATS_PASSWORD']);
    expect(given('voice')).toEqual(['TRUNKLINE_TOKEN', 'VOICE_KEY']);
    expect(given('switchboard')).toEqual(['TRUNKLINE_TOKEN', 'NATS_PASSWORD']);
    expect(given('agent')).toEqual(['TRUNKLINE_TOKEN']);
    expect(given('research')).toEqual(['TRUNKLINE_TOKEN']);
  });
});

it('images of others are pinned to one release', () => {
  const images = Object.values(services).flatMap(({ image }) => image ?? []);
  expect(images).toHaveLength(2);
  expect(images.filter((image) => !/:\d+\.\d+\.\d+[\w.-]*$/.test(image))).toEqual([]);
});

it('the agent of the image serves no pages and listens on all addresses [A003] [A037]', () => {
  expect(readImage().environment).toMatchObject({ CORE_UI: 'none', CORE_HOST: '0.0.0.0' });
  const { environment = {} } = services.agent ?? {};
  expect(interpolate(environment.CORE_UI ?? '', {})).toBe('none');
  expect(environment).toMatchObject({ CORE_HOST: '0.0.0.0' });
});

it('the files that containers are given are there', () => {
  const mounted = Object.values(services)
    .flatMap(({ volumes }) => volumes)
    .flatMap((volume) => /^\.\/([^:]+):/.exec(volume)?.[1] ?? []);
  expect(mounted).toContain('deploy');
  expect(mounted.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

it('they name whom the voice and the switchboard may ask, with the tokens of these', async () => {
  const env = { A2A_AUTH_TOKEN: 'a', RESEARCH_AUTH_TOKEN: 'r' };
  const { entries, warnings } = await loadDelegates(join(root, 'deploy/delegates.yaml'), env);
  expect(warnings).toEqual([]);
  expect(entries).toMatchObject([
    { name: 'agent', agent: { url: 'http://127.0.0.1:7870/a2a', credentials: { bearer: 'a' } } },
    { name: 'research', agent: { url: 'http://127.0.0.1:3399/a2a', credentials: { bearer: 'r' } } },
  ]);
  const registry = await loadYaml(join(root, 'deploy/agents.yaml'), externalAgentsSchema, { env });
  expect(registry).toMatchObject({
    agents: [
      { name: 'agent', url: 'http://agent:7870/a2a' },
      { name: 'research', url: 'http://research:3399/a2a' },
    ],
  });
});

it('the systemd unit keeps compiled code between starts, in a folder that it may write to', () => {
  const unit = readFileSync(join(root, 'deploy/trunkline.service'), 'utf8');
  const values = (name: string) =>
    [...unit.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value]) => value);
  // With these, neither /tmp nor a home lasts or can be written to.
  expect([values('PrivateTmp'), values('ProtectHome')]).toEqual([['true'], ['true']]);
  const [folder] = values('CacheDirectory');
  expect(values('CacheDirectoryMode')).toEqual(['0700']);
  expect(values('Environment')).toContain(`NODE_COMPILE_CACHE=/var/cache/${folder}`);
});
