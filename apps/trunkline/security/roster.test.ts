import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Attack, json, openMode, startAttack } from './attack.suite.ts';

/** Voice with a roster that somebody lost, broke or wrote carelessly. */
let attack: Attack;
const ada = '{ id: ada, api_key: key-of-ada-in-voice, role: admin }';
const adaKey = { 'x-api-key': 'key-of-ada-in-voice' };
const good = `users: [${ada}, { id: bob, api_key: key-of-bob, allowed_skills: [chef] }]`;

beforeAll(async () => {
  // The first roster that this home sees is broken.
  attack = await startAttack({ env: openMode, files: { 'voice/config/users.yaml': 'users: [' } });
});
afterAll(() => attack.stop());

const rosterFile = () => join(attack.home, 'voice', 'config', 'users.yaml');
const call = (path: string, headers: Record<string, string> = {}, body?: object, from = attack) =>
  json<Record<string, unknown>>(`${from.url('voice')}${path}`, body, headers);

/** Reads the roster anew, as the operator. */
const reload = async () => (await call('/api/users/reload', await attack.operator('voice'), {})).text;

/** Everything that a stranger tries: as nobody, and with keys that nobody gave out. */
async function strangers(from = attack): Promise<string[]> {
  const keys = ['x', 'undefined', 'null', '[object Object]', '123456789', '12000', 'true', '__proto__'];
  const headers: Record<string, string>[] = [{}, ...keys.map((key) => ({ 'x-api-key': key }))];
  const entered: string[] = [];
  for (const shown of headers)
    for (const [path, body] of [
      ['/api/whoami', undefined],
      ['/api/skills', undefined],
      ['/api/offer', { sdp: 'v=0', type: 'offer' }],
      ['/api/users/reload', {}],
    ] as const) {
      const { status } = await call(path, shown, body, from);
      if (![401, 403, 503].includes(status)) entered.push(`${status} ${path} with ${JSON.stringify(shown)}`);
    }
  return entered;
}

describe('a first roster', () => {
  it('that is no YAML lets nobody in', async () => {
    expect(await strangers()).toEqual([]);
    expect(attack.log.filter((line) => line.includes('users.yaml')).join('\n')).toMatch(/line \d|:\d/);
  });

  it.each([
    ['whose users are no list', 'users: ada'],
    ['with a number for a skill', `users: [${ada}, { id: bob, api_key: key-of-bob, allowed_skills: [42] }]`],
    ['with one key for two', `users: [${ada}, { id: bob, api_key: key-of-ada-in-voice }]`],
    ['with a number for a key', `users: [${ada}, { id: bob, api_key: 0123456789 }]`],
    ['with a power for a key', `users: [${ada}, { id: bob, api_key: 12e3 }]`],
    ['with a truth for a key', `users: [${ada}, { id: bob, api_key: true }]`],
    ['with one id for two', `users: [${ada}, { id: ada, api_key: key-of-bob }]`],
  ])('%s lets nobody in, and the refusal names the line', async (_, roster) => {
    writeFileSync(rosterFile(), roster);
    expect(await reload()).toMatch(/users\.yaml.*(line \d|:\d)/);
    expect(await strangers()).toEqual([]);
    expect((await call('/api/whoami', { 'x-api-key': 'key-of-bob' })).status).not.toBe(200);
  });
});

describe('a roster that was there', () => {
  it.each([
    ['deleted', () => rmSync(rosterFile())],
    ['emptied', () => writeFileSync(rosterFile(), '')],
    ['cut off in the middle', () => writeFileSync(rosterFile(), good.slice(0, 20))],
    ['left without a user', () => writeFileSync(rosterFile(), 'users:\n')],
    ['made something else', () => writeFileSync(rosterFile(), 'people: []')],
  ])('and is %s lets nobody in', async (_, spoil) => {
    writeFileSync(rosterFile(), good);
    await reload();
    expect((await call('/api/whoami', adaKey)).body).toMatchObject({ id: 'ada' });
    spoil();
    await call('/api/users/reload', adaKey, {});
    expect(await strangers()).toEqual([]);
  });

  it('and is deleted lets nobody in after a restart either', async () => {
    rmSync(rosterFile(), { force: true });
    await attack.restart();
    expect(await strangers()).toEqual([]);
    writeFileSync(rosterFile(), good);
    await reload();
    expect((await call('/api/whoami', adaKey)).status).toBe(200);
  });
});

it('a user limited to a skill whose file is gone talks to nobody, least of all to the default with all its tools', async () => {
  writeFileSync(rosterFile(), good);
  await reload();
  const bob = { 'x-api-key': 'key-of-bob' };
  expect((await call('/api/skills', bob)).body).toMatchObject({ active: 'chef' });
  rmSync(join(attack.home, 'voice', 'config', 'skills', 'chef.yaml'));
  await call('/api/skills/reload', await attack.operator('voice'), {});
  expect(JSON.stringify((await call('/api/skills', bob)).body)).not.toContain('default');
  for (const slug of ['default', '', 'Default', '../default', '__proto__'])
    expect((await call('/api/skills', bob, { slug })).body).not.toHaveProperty('active');
  const { status } = await call('/api/offer', bob, { sdp: 'v=0\r\n', type: 'offer' });
  expect(status).toBeGreaterThanOrEqual(400);
});

describe('no roster at all', () => {
  it.each([
    ['a key of another service', { RESEARCH_AUTH_TOKEN: 'token-of-research' }],
    ['an address beyond loopback', { VOICE_HOST: '0.0.0.0' }],
  ])('and %s: voice answers only the operator, and says how to write users.yaml', async (_, env) => {
    const bare = await startAttack({
      env: { ...openMode, ...env },
      files: { 'voice/config/users.yaml': undefined },
    });
    onTestFinished(() => bare.stop());
    expect(await strangers(bare)).toEqual([]);
    expect((await call('/api/whoami', {}, undefined, bare)).text).toContain('users.yaml');
    const { status } = await call('/api/whoami', await bare.operator('voice'), undefined, bare);
    expect(status).toBe(200);
  });
});
