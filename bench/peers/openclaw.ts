import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Peer } from './peer.ts';
import { freePort, post } from './processes.ts';

const token = randomUUID();

/** OpenClaw's gateway with its OpenAI-compatible endpoint on; a new session for each turn. */
export const openclaw: Peer = {
  name: 'OpenClaw',
  id: 'openclaw',
  kind: 'agent',
  package: 'openclaw',
  folder: 'large/openclaw',
  needs: [],
  install: 'npm only, 640 MB; runs when named',
  durability: 'transcript of each session in files',
  unfair:
    'to OpenClaw: a person’s assistant with workspace, skills and a long prompt, not made for many turns a second',
  optional: true,
  units: 100,
  async start({ processes, home, gateway }) {
    const state = join(home, '.openclaw');
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const model = {
      id: 'bench-model',
      name: 'Bench',
      reasoning: false,
      input: ['text'],
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
      contextWindow: 196_608,
      maxTokens: 8192,
    };
    mkdirSync(state, { recursive: true });
    writeFileSync(
      join(state, 'openclaw.json'),
      JSON.stringify({
        gateway: {
          mode: 'local',
          bind: 'loopback',
          auth: { mode: 'token', token },
          http: { endpoints: { chatCompletions: { enabled: true } } },
        },
        agents: { defaults: { model: { primary: 'bench/bench-model' } } },
        models: {
          mode: 'merge',
          providers: {
            bench: { baseUrl: gateway, apiKey: 'none', api: 'openai-completions', models: [model] },
          },
        },
        update: { checkOnStart: false },
        telemetry: { enabled: false },
      }),
    );
    const command = join(import.meta.dirname, 'large/openclaw/node_modules/openclaw/openclaw.mjs');
    const authorization = `Bearer ${token}`;
    await processes.launch(process.execPath, [command, 'gateway', 'run', '--port', String(port)], {
      ready: `${url}/healthz`,
      env: { OPENCLAW_DISABLE_BONJOUR: '1', OPENCLAW_SKIP_CHANNELS: '1' },
    });
    return {
      async work() {
        const id = randomUUID();
        const body = {
          model: 'openclaw',
          user: id,
          messages: [{ role: 'user', content: `What is 12 * 34? (${id})` }],
        };
        const answer = JSON.stringify(await post(`${url}/v1/chat/completions`, body, { authorization }));
        if (!answer.includes('408')) throw new Error(`OpenClaw answered: ${answer.slice(0, 300)}`);
        return id;
      },
      isKept: async (id) => files(state).some((path) => readFileSync(path, 'latin1').includes(id)),
    };
  },
};

function files(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}
