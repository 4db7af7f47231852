import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { externalAgentsSchema, loadDelegates } from '@trunkline/a2a';
import { loadYaml } from '@trunkline/config';
import { expect, it } from 'vitest';
import { optionTables } from '../options.ts';
import { root } from './blocks.suite.ts';

const compose = readFileSync(join(root, 'compose.yaml'), 'utf8');
const foundBy = (pattern: RegExp) => [...compose.matchAll(pattern)].map(([, found = '']) => found);

it('the compose file runs the services, each with variables that there are', () => {
  expect(foundBy(/^ {2}(\w+):$/gm)).toEqual(
    expect.arrayContaining(['voice', 'agent', 'research', 'switchboard', 'nats', 'searxng']),
  );
  const known = optionTables.flatMap(({ options }) => Object.values(options).flatMap(({ env }) => env));
  const others = ['SEARXNG_SECRET', 'PEER_RESEARCH_URL', 'PEER_RESEARCH_TOKEN'];
  const set = foundBy(/^ {4,6}([A-Z][A-Z0-9_]+): /gm);
  expect(set.length).toBeGreaterThan(15);
  expect(set.filter((name) => !known.includes(name) && !others.includes(name))).toEqual([]);
});

it('the files that containers are given are there', () => {
  const mounted = foundBy(/"\.\/([^:"]+):/g);
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
