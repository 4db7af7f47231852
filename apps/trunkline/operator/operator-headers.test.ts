import { operatorAccess } from '@trunkline/identity';
import { recordRunning } from '@trunkline/service';
import { temporaryDirectory } from '@trunkline/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { keyFor, operatorHeaders } from './operator-headers.ts';

const home = temporaryDirectory();
afterAll(home.remove);
beforeAll(async () => {
  operatorAccess(home.path);
  await recordRunning(home.path, [{ name: 'agent', url: 'http://127.0.0.1:7870' }]);
});

it.each([
  ['http://127.0.0.1:7870', true],
  ['http://127.0.0.1:7870/', true],
  ['https://agent.example', true],
  // Anybody on this machine may listen there.
  ['http://127.0.0.1:7871', false],
  ['http://[::1]:7870', false],
  ['http://localhost:7870', false],
  ['https://agent.example:8443', false],
  ['https://agent.example.evil.example', false],
  ['http://192.168.1.5:7870', false],
  ['http://127.0.0.1.evil.example', false],
])('shows the key to %s: %s', (url, isShown) => {
  const env = { A2A_PUBLIC_URL: 'https://agent.example/', PUBLIC_URL: 'http://127.0.0.1:7871' };
  expect(Object.keys(operatorHeaders(url, home.path, env))).toEqual(isShown ? ['x-operator-key'] : []);
});

it.each([
  ['http://127.0.0.1:7870', false, 'key'],
  ['http://127.0.0.1:7871', false, undefined],
  ['http://127.0.0.1:7871', true, 'key'],
  ['https://agent.example', true, 'key'],
])('gives a key of the settings to %s, named %s: %s', (url, isNamed, key) => {
  expect(keyFor({ url, isNamed, home: home.path }, 'key')).toBe(key);
});
