import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createLogger, readOptions } from '@trunkline/config';
import type { PostureView } from '@trunkline/std';
import { temporaryHome } from '@trunkline/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Fleet, startFleet } from '../fleet/fleet.ts';
import { upOptions } from '../options.ts';

const home = temporaryHome();
const { TRUNKLINE_HOME: folder = '' } = home.environment;
const ports = { VOICE_PORT: '0', AGENT_PORT: '0', RESEARCH_PORT: '0', SWITCHBOARD_PORT: '0' };
const others = {
  ...{ VOICE_GRPC_PORT: '0', A2A_GRPC_PORT: '0', RESEARCH_GRPC_PORT: '0', SWITCHBOARD_GRPC_PORT: '0' },
  ...{ TRANSLATOR_PORT: '0', TRACKER_WEBHOOK_PORT: '0' },
};
const quiet = { LLM_GATEWAY_URL: '', SMART_TURN: 'off', TRUNKLINE_SANDBOX: 'off', TRUNKLINE_OPEN: '' };
const long = 'a-key-that-nobody-guesses-0123456789';
const env = {
  ...{ ...home.environment, ...ports, ...others, ...quiet },
  ...{ TRACKER_WEBHOOK_SECRET: 'hook', KEY_OF_CI: 'program-key', AGENT_API_KEY: long, AGENT_NAME: 'agent' },
};
let fleet: Fleet;

beforeAll(async () => {
  const files = {
    'switchboard/workspace/keys.yaml':
      'keys: [{ name: ci, envKey: KEY_OF_CI }, { name: off, envKey: KEY_OF_NOBODY }]\n',
    'voice/config/users.yaml': `users: [{ id: ann, api_key: annann }, { id: bo, api_key: "${long}" }]\n`,
    'voice/config/mcp.yaml':
      'servers: [{ name: loose, trusted: true, transport: stdio, command: loose-server, sandbox: "off" }]\n',
  };
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  const logger = createLogger({ name: 'trunkline', destination: { write: () => undefined } });
  const options = readOptions(upOptions, { env });
  fleet = await startFleet({ options, env, logger, hide: () => undefined });
});
afterAll(async () => {
  // Undefined where the start failed.
  await (fleet as Fleet | undefined)?.stop();
  home.remove();
});

async function postureOf(name: string): Promise<string[]> {
  const url = fleet.members.find((member) => member.name === name)?.url ?? '';
  const headers = { 'x-operator-key': fleet.operator.secrets[0] ?? '' };
  const answer = await fetch(`${url}/operator/posture`, { headers });
  const { findings } = (await answer.json()) as PostureView;
  const lines = findings.map(({ subject, state, words }) => `${state} ${subject}: ${words}`);
  expect(lines.join('\n')).not.toMatch(/annann|program-key|a-key-that/);
  return lines;
}

it('the page of voice names the keys of users.yaml, the programs of mcp.yaml and every port', async () => {
  const found = await postureOf('voice');
  expect(found).toContainEqual(
    expect.stringContaining('failed keys: the key of ann in users.yaml can be guessed'),
  );
  expect(found.join('\n')).not.toContain('the key of bo');
  expect(found).toContainEqual(
    expect.stringMatching(/^ok open services: every account .* voice, gRPC of voice;/),
  );
  expect(found).toContainEqual(
    expect.stringMatching(/^warning MCP servers: are believed .*: loose \(mcp\.yaml of voice\)\.$/),
  );
  expect(found).toContainEqual(
    expect.stringMatching(/^warning sandbox: .*\(sandbox: off\): loose \(mcp\.yaml of voice\)\.$/),
  );
});

it('the page of the switchboard names the keys of keys.yaml and what signs webhooks', async () => {
  const found = await postureOf('switchboard');
  const keys = found.filter((line) => line.startsWith('failed keys: '));
  expect(keys).toEqual([
    expect.stringContaining('the key of ci in keys.yaml can be guessed'),
    expect.stringContaining('TRACKER_WEBHOOK_SECRET can be guessed'),
  ]);
  // A key of keys.yaml closes the service.
  expect(found.join('\n')).not.toMatch(/open services|switchboard is open/);
});

it('the pages of agent and research name the port of gRPC', async () => {
  expect(await postureOf('agent')).toContainEqual(
    expect.stringMatching(/give work to agent, gRPC of agent;/),
  );
  expect(await postureOf('agent')).toContainEqual('ok keys: 1 set, none weak.');
  expect(await postureOf('research')).toContainEqual(
    expect.stringMatching(/give work to research, gRPC of research;/),
  );
});
