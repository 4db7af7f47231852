import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { agentOptions } from '@trunkline/agent';
import { createLogger, readOptions, secretStoreOf } from '@trunkline/config';
import { readOrCreateSecret } from '@trunkline/identity';
import { recordRunning } from '@trunkline/service';
import { Setup } from '@trunkline/setup';
import type { PostureView, SettingsView, SetupView } from '@trunkline/std';
import {
  callersOf,
  FakeGuild,
  searchKey,
  startKeyedSearch,
  temporaryHome,
  waitFor,
} from '@trunkline/testing';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { serviceSteps } from '../init/service-steps.ts';
import { RunningServices } from '../init/services.ts';
import { directTrials } from '../init/trials.ts';
import { upOptions } from '../options.ts';
import { type Fleet, startFleet } from './fleet.ts';

const home = temporaryHome();
const { TRUNKLINE_HOME: folder = '' } = home.environment;
const ports = { VOICE_PORT: '0', AGENT_PORT: '0', RESEARCH_PORT: '0', SWITCHBOARD_PORT: '0' };
const quiet = { LLM_GATEWAY_URL: '', SMART_TURN: 'off', TRUNKLINE_SANDBOX: 'off', TRUNKLINE_OPEN: '' };
const env = { ...home.environment, ...ports, ...quiet, KEY_OF_CI: 'key-of-a-program' };
const file = join(folder, 'settings.yaml');
const log: string[] = [];
let fleet: Fleet;

beforeAll(async () => {
  const logger = createLogger({ name: 'trunkline', destination: { write: (line) => log.push(line) } });
  const options = readOptions(upOptions, { env });
  fleet = await startFleet({ options, env, logger, hide: () => undefined });
});
afterAll(async () => {
  await fleet.stop();
  home.remove();
});

const url = (name: string) => fleet.members.find((member) => member.name === name)?.url ?? '';
const headers = () => ({
  'x-operator-key': fleet.operator.secrets[0] ?? '',
  'content-type': 'application/json',
});
const call = (name: string, path: string, init: RequestInit = {}) =>
  fetch(`${url(name)}${path}`, { ...init, headers: headers() });
const view = async (name: string) => (await (await call(name, '/operator/settings')).json()) as SettingsView;
const settingOf = async (name: string, variable: string) =>
  (await view(name)).settings.find((setting) => setting.variable === variable);
const restarts = (name: string) =>
  log.filter((line) => line.includes('"msg":"restarted"') && line.includes(`"service":"${name}"`)).length;
const healthOf = async (name: string) => (await fetch(`${url(name)}/healthz`)).json();

it('every service shows secrets in plain text of all services', async () => {
  const secrets = join(folder, 'agent/config/secrets.yaml');
  mkdirSync(dirname(secrets), { recursive: true });
  writeFileSync(secrets, 'model: { api_key: sesame-in-plain-text }\n');
  const { findings } = (await (await call('voice', '/operator/posture')).json()) as PostureView;
  rmSync(secrets);
  const found = findings.find(({ subject }) => subject === 'plain secrets');
  expect(found).toMatchObject({ state: 'warning', words: expect.stringContaining(secrets) });
  expect(JSON.stringify(findings)).not.toContain('sesame');
});

it('the voice that the fleet chose is shown, and each service knows what wins over models.yaml in another', async () => {
  expect(await settingOf('voice', 'TTS_BACKEND')).toMatchObject({ value: 'inprocess', source: 'default' });
  const path = ['model', 'api_base'];
  const changes = [{ op: 'set', path, value: 'http://127.0.0.1:9/v1' }];
  const body = JSON.stringify({ changes, api_key: 'k' });
  expect((await call('agent', '/api/config', { method: 'PATCH', body })).status).toBe(200);
  const overrides = async () =>
    ((await (await call('voice', '/operator/setup')).json()) as SetupView).overrides.map(
      ({ setting }) => setting,
    );
  await waitFor(async () => (await overrides()).includes('model.api_base'));
  await call('agent', '/api/config', {
    method: 'PATCH',
    body: JSON.stringify({ changes: [{ op: 'remove', path }] }),
  });
  await waitFor(async () => (await overrides()).length === 0);
});

it('refuses what a service would not start with, in the words of that service', async () => {
  const refusalOf = async (changes: object) => {
    const answer = await call('research', '/operator/settings', {
      method: 'PATCH',
      body: JSON.stringify(changes),
    });
    return [answer.status, await answer.text()];
  };
  expect(await refusalOf({ SWITCHBOARD_HOST: '0.0.0.0' })).toEqual([
    400,
    expect.stringContaining('it would listen on 0.0.0.0 with no key set; set SWITCHBOARD_API_KEY'),
  ]);
  expect(await refusalOf({ CORE_REQUIRE_AUTH: '1', CORE_HOST: '0.0.0.0' })).toEqual([
    400,
    expect.stringContaining('anyone who reaches it can drive it. Set A2A_AUTH_TOKEN'),
  ]);
  expect(
    await refusalOf({ SCHEDULER_BACKEND: 'switchboard', SWITCHBOARD_API_BASE: 'http://127.0.0.1:9' }),
  ).toEqual([400, expect.stringContaining('set SWITCHBOARD_API_BASE and SWITCHBOARD_API_KEY too')]);
});

it('a change through one service restarts those that it concerns, and no other', async () => {
  const body = JSON.stringify({ SEARXNG_URL: 'http://127.0.0.1:9' });
  // The answer arrives, although the service restarts for it.
  const answer = await call('research', '/operator/settings', { method: 'PATCH', body });
  expect(answer.status).toBe(200);
  expect(((await answer.json()) as SettingsView).problem).toBeNull();
  await waitFor(() => restarts('research') === 1);
  expect(await settingOf('research', 'SEARXNG_URL')).toMatchObject({
    value: 'http://127.0.0.1:9',
    source: 'settings.yaml',
  });
  const { sources } = await healthOf('research');
  expect(JSON.stringify(sources)).toContain('searxng');
  expect(restarts('switchboard')).toBe(0);
});

it('the switchboard comes back with its bus, its peers and the operator', async () => {
  appendFileSync(file, 'SWITCHBOARD_API_KEY: sesame-of-the-board\n');
  // The agent calls the switchboard with that key.
  await waitFor(() => restarts('switchboard') === 1 && restarts('agent') === 2);
  const strange = await fetch(`${url('switchboard')}/api/flows`, { headers: { 'x-api-key': 'wrong' } });
  expect(strange.status).toBe(401);
  const board = async (path: string, body?: object) => {
    const keys = { 'x-api-key': 'sesame-of-the-board', 'content-type': 'application/json' };
    const init = { headers: keys, ...(body && { method: 'POST', body: JSON.stringify(body) }) };
    return (await fetch(`${url('switchboard')}${path}`, init)).json();
  };
  const skills = await waitFor(async () => {
    const { data } = await board('/api/agents');
    const found = data.find(({ name }: { name: string }) => name === 'agent')?.skills ?? [];
    return found.length > 0 && found;
  });
  const correlationId = 'after-restart';
  const payload = { skillHint: skills[0].name ?? skills[0], agent: 'agent', content: 'what is 12*7+3' };
  const reply = { topic: 'message.outbound.cli' };
  await board('/publish', { topic: 'agent.skill.request', payload, correlationId, reply });
  const answered = await waitFor(async () => {
    const history = await board(`/api/bus/history?correlationId=${correlationId}`);
    return history.data.messages.find(
      ({ message }: { message: { topic: string } }) => message.topic === reply.topic,
    );
  });
  expect(answered.message.payload.content).toContain('87');
  expect((await healthOf('voice')).services).toHaveLength(4);
});

it('another endpoint of the chat counts in all four at once, with no restart', async () => {
  const before = log.filter((line) => line.includes('"msg":"restarted"')).length;
  const names = fleet.members.map(({ name }) => name);
  const models = () => Promise.all(names.map(async (name) => (await healthOf(name)).model));
  expect((await models()).map(({ demo }) => demo)).toEqual(Array(4).fill(true));
  const roles = { chat: { model: 'real', url: 'http://127.0.0.1:9/v1' } };
  writeFileSync(join(folder, 'models.yaml'), JSON.stringify({ roles }));
  await waitFor(async () =>
    (await models()).every(({ name, url }) => name === 'real' && url === 'http://127.0.0.1:9/v1'),
  );
  rmSync(join(folder, 'models.yaml'));
  await waitFor(async () => (await models()).every(({ demo }) => demo));
  expect(log.filter((line) => line.includes('"msg":"restarted"'))).toHaveLength(before);
});

it('settings that cannot be read change nothing, and are told', async () => {
  const before = restarts('research');
  writeFileSync(file, 'SEARXNG_ULR: http://127.0.0.1:9\n');
  const problem = await waitFor(async () => (await view('research')).problem);
  expect(problem).toContain(`${file}:1:1: SEARXNG_ULR is not a setting; did you mean SEARXNG_URL?`);
  await waitFor(async () => JSON.stringify((await healthOf('research')).missing).includes('settings.yaml'));
  expect(restarts('research')).toBe(before);
});

it('a service that cannot start with new settings goes on with the old ones', async () => {
  rmSync(file);
  await waitFor(async () => (await view('voice')).problem === null);
  writeFileSync(file, 'VOICE_HOST: 203.0.113.1\n');
  await waitFor(() => log.some((line) => line.includes('failed to start with the new settings')));
  expect(await waitFor(async () => (await view('voice')).problem)).toContain('203.0.113.1');
  expect(JSON.stringify((await healthOf('voice')).missing)).toContain('settings.yaml');
  rmSync(file);
  await waitFor(async () => (await view('voice')).problem === null);
});

it('a service that goes on with its old options asks for the operator as before, and takes new names of its peers', async () => {
  const before = log.length;
  writeFileSync(file, 'TRUNKLINE_OPEN: yes\nSWITCHBOARD_HOST: 0.0.0.0\nAGENT_NAME: scout\n');
  const found = (name: string, words: string) =>
    log.slice(before).some((line) => line.includes(`"service":"${name}"`) && line.includes(words));
  await waitFor(() => found('voice', '"msg":"restarted"'));
  expect(found('switchboard', 'failed to start with the new settings')).toBe(true);
  expect((await fetch(`${url('switchboard')}/operator/settings`)).status).toBe(403);
  expect((await fetch(`${url('agent')}/operator/settings`)).status).toBe(200);
  const token = readOrCreateSecret(folder, 'family-secret');
  const callers = callersOf({ url: url('switchboard'), home: folder, serviceToken: token });
  const service = callers.as({ kind: 'service', id: 'agent', via: ['agent'] });
  const publish = async (topic: string) => (await service('POST /publish', { topic, payload: {} })).status;
  expect([await publish('cron.scout.daily'), await publish('cron.agent.daily')]).toEqual([200, 403]);
  rmSync(file);
  await waitFor(async () => (await view('switchboard')).problem === null);
  await waitFor(async () => (await fetch(`${url('voice')}/operator/settings`)).status === 403);
});

it('trunkline init tests a connector and a search with the services, and they take it without a restart by hand', async () => {
  const guild = await FakeGuild.start({ 'sesame-discord': { id: '1', name: 'trunk' } });
  const keyed = await startKeyedSearch();
  onTestFinished(() => Promise.all([guild.stop(), keyed.stop()]).then(() => undefined));
  // Voice and agent search as well.
  const before = new Map(fleet.members.map(({ name }) => [name, restarts(name)]));
  writeFileSync(file, `CHAT_API_URL: ${guild.url}\nTAVILY_API_URL: ${keyed.tavilyUrl}\n`);
  await waitFor(() => [...before].every(([name, count]) => restarts(name) > count));
  const urls = {
    voice: url('voice'),
    agent: url('agent'),
    research: url('research'),
    switchboard: url('switchboard'),
  };
  const own = { ...env, TRUNKLINE_HOME: folder };
  const logger = createLogger({ name: 'init', destination: { write: () => undefined } });
  const options = { ...readOptions(agentOptions, { env: own }), trunklineHome: folder };
  const setup = new Setup({ options, secrets: secretStoreOf(own), env: own, logger });
  const answers: [RegExp, string][] = [
    [/^Number \(Enter: without a key/, '3'],
    [/^API key of Tavily/, searchKey],
    [/^Save it\?/, 'y'],
    [/^CHAT_BOT_TOKEN/, 'sesame-discord'],
    [/^CHAT_DIGEST_CHANNEL/, '700000000000000002'],
    [/^Number \(Enter: skip\)/, '1'],
    [/^Number \(Enter: nothing now\)/, '3'],
    [/^Send a test message/, 'y'],
  ];
  const said: string[] = [];
  const terminal = {
    say: (text: string) => void said.push(text),
    ask: async (question: string) => answers.find(([pattern]) => pattern.test(question))?.[1] ?? '',
  };
  const record = await recordRunning(folder, fleet.members);
  onTestFinished(record.remove);
  const services = new RunningServices(urls, folder, own);
  const direct = directTrials({ home: folder, env: own, logger });
  await serviceSteps({ terminal, setup, services, direct, home: folder });
  const text = said.join('\n');
  expect(text).toContain('Discord: signed in as trunk');
  expect(text).toContain('Lionel Messi Facts | Britannica  https://www.britannica.com');
  expect(text).toContain(`${url('voice')}/setup/result#reminder`);
  expect(said.slice(-8).join('\n')).toContain('Sent. Look into Discord');
  await waitFor(() =>
    guild.posts.some(({ content }) => content === 'Hello from Trunkline. This is a test message.'),
  );
  const saved = readFileSync(file, 'utf8');
  expect(saved).not.toContain('sesame-discord');
  expect(saved).not.toContain(searchKey);
  await waitFor(async () => JSON.stringify((await healthOf('research')).sources).includes('"tavily"'));
  expect((await setup.view('trunkline')).steps).toMatchObject({
    ...{ speech: 'skipped', search: 'done', connector: 'done', result: 'open' },
  });
});

it('voice lets nobody in without a key while the only service with one restarts', async () => {
  writeFileSync(file, '');
  await waitFor(async () => (await fetch(`${url('voice')}/api/whoami`)).status === 200);
  const key = '{ name: ci, envKey: KEY_OF_CI, publish: [cron.ci.#], subscribe: [cron.ci.#] }';
  writeFileSync(join(folder, 'switchboard/workspace/keys.yaml'), `keys: [${key}]\n`);
  const whoami = async () => (await fetch(`${url('voice')}/api/whoami`)).status;
  await waitFor(async () => (await whoami()) === 401);
  const before = restarts('switchboard');
  writeFileSync(file, 'EMBED_MODEL: other\n');
  const seen = new Set<number>();
  await waitFor(async () => {
    seen.add(await whoami());
    return restarts('switchboard') > before;
  });
  expect([...seen]).toEqual([401]);
});
