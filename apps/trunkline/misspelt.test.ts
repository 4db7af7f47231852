import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { settingNotes } from './misspelt.ts';

const env = { LLM_MODLE: 'a', TRUNKLINE_HOM: 'b', TRUNKLINE_ODD: 'c', NODE_PATH: 'd', PEER_ADA_URL: 'e' };

function emptyHome(): string {
  const temporary = temporaryDirectory();
  onTestFinished(temporary.remove);
  return temporary.path;
}

it('names what is close to a setting or has our prefix, and nothing else', async () => {
  expect(await settingNotes(env)).toEqual([
    'LLM_MODLE is not a setting; did you mean LLM_MODEL?',
    'TRUNKLINE_HOM is not a setting; did you mean TRUNKLINE_HOME?',
    expect.stringMatching(/^TRUNKLINE_ODD is not a setting/),
  ]);
});

it.each([
  ['SWITCHBORD_API_KEY', 'SWITCHBOARD_API_KEY'],
  ['LML_API_KEY', 'LLM_API_KEY'],
  ['BRAEV_API_KEY', 'BRAVE_API_KEY'],
  ['BRVE_API_KEY', 'BRAVE_API_KEY'],
  ['TRAKER_API_KEY', 'TRACKER_API_KEY'],
  ['TRUNKLINE_AGNT_API_KEY', 'TRUNKLINE_AGENT_API_KEY'],
])('names the key that %s is meant to be', async (name, meant) => {
  expect(await settingNotes({ [name]: 'secret' })).toEqual([
    `${name} is not a setting; did you mean ${meant}?`,
  ]);
});

it.each(['ADA_API_KEY', 'GLM_API_KEY', 'OPENAI_API_KEY', 'TRUNKLINE_AGENT_API_KEY', 'PEER_ADA_API_KEY'])(
  'leaves %s alone, which is for an agent or another program',
  async (name) => {
    expect(await settingNotes({ [name]: 'secret' })).toEqual([]);
  },
);

it('names a key with our prefix that is no agent of ours', async () => {
  const note = (name: string) => `${name} is not a setting; no agent has that name (AGENT_NAME).`;
  expect(await settingNotes({ TRUNKLINE_LLM_API_KEY: 'a' })).toEqual([note('TRUNKLINE_LLM_API_KEY')]);
  const keys = { TRUNKLINE_AGENT_API_KEY: 'a', TRUNKLINE_DESK_API_KEY: 'b' };
  expect(await settingNotes({ ...keys, AGENT_NAME: 'trunkline-desk' })).toEqual([
    note('TRUNKLINE_AGENT_API_KEY'),
  ]);
  expect(await settingNotes({ ADA_BOT_API_KEY: 'a', AGENT_NAME: 'Ada Bot' })).toEqual([]);
});

it('needs no list of settings: an installation may lack it', async () => {
  expect(await settingNotes(env, '/nowhere/.env.example')).toEqual([]);
  const alone = { LLM_MODEL: 'a', TRUNKLINE_HOME: emptyHome() };
  expect(await settingNotes(alone, '/nowhere/.env.example')).toHaveLength(1);
});

it.each([
  ['models.yaml', 'roles: {chat: {model: large, url: "http://127.0.0.1:1/v1"}}'],
  ['settings.yaml', 'LLM_GATEWAY_URL: http://127.0.0.1:1/v1'],
  ['models/tiny.gguf', ''],
])('does not say that the demo model answers where %s names another', async (file, text) => {
  const home = emptyHome();
  const alone = { LLM_MODEL: 'a', TRUNKLINE_HOME: home };
  expect(await settingNotes(alone)).toEqual([expect.stringMatching(/demo model answers/)]);
  mkdirSync(join(home, 'models'));
  writeFileSync(join(home, file), text, { mode: 0o600 });
  expect(await settingNotes(alone)).toEqual([]);
});

it("leaves out the agent where its configuration names a model's address", async () => {
  const home = emptyHome();
  const folder = join(home, 'agent', 'config');
  mkdirSync(folder, { recursive: true });
  const notes = async (model: string, variables = {}) => {
    writeFileSync(join(folder, 'agent.yaml'), `model:\n${model}\nodd: true\n`);
    return settingNotes({ LLM_MODEL: 'a', TRUNKLINE_HOME: home, ...variables });
  };
  const toAll = 'LLM_MODEL is set, but LLM_GATEWAY_URL is not: the offline demo model answers';
  expect(await notes(`  api_base: \${LLM_GATEWAY_URL:-}`)).toEqual([`${toAll}.`]);
  const named = '  api_base: http://127.0.0.1:1/v1';
  const toOthers = [`${toAll} in all services but the agent, whose agent.yaml names a model.`];
  expect(await notes(named)).toEqual(toOthers);
  expect(await notes('', { CORE_CONFIG_DIR: home })).toEqual([`${toAll}.`]);
  expect(await notes('  api_base: [')).toEqual([]);
});

it('finds the list in the container', () => {
  const dockerfile = readFileSync(join(import.meta.dirname, '../../Dockerfile'), 'utf8');
  expect(dockerfile).toMatch(/^COPY .*\.env\.example/m);
});
