import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Child, startChild, startModelServer, temporaryHome, writeTinyGguf } from '@trunkline/testing';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, it } from 'vitest';

const launcher = join(import.meta.dirname, '../../../bin/trunkline.js');
const home = temporaryHome();
const urls: Record<string, string> = {};
let child: Child;
const ports = { VOICE_PORT: '0', AGENT_PORT: '0', RESEARCH_PORT: '0', SWITCHBOARD_PORT: '0' };
const model = { LLM_GATEWAY_URL: '', LLM_GGUF_PORT: '0', LLM_GGUF_CONTEXT: '65536', LLM_GGUF_THREADS: '1' };
const environment = { ...home.environment, ...ports, ...model };

/** A file in the home is all that is needed: nothing else is set. */
beforeAll(async () => {
  const models = join(home.environment.TRUNKLINE_HOME ?? '', 'models');
  mkdirSync(models);
  writeTinyGguf(join(models, 'tiny.gguf'));
  child = startChild(launcher, { arguments: ['up'], environment });
  await child.waitForLine('Ctrl-C stops everything', 180_000);
  for (const [, name = '', url = ''] of child.output().matchAll(/^ {2}(\w+) +(http:\S+)/gm)) urls[name] = url;
});
afterAll(async () => {
  await child.kill('SIGTERM');
  home.remove();
});

it('a tool call by grammar reaches a tool of the agent, and its result the model, over A2A', async () => {
  const parts = [{ kind: 'text', text: 'what is 6 times 7?' }];
  const message = { kind: 'message', role: 'user', messageId: 'one', parts };
  const answer = await fetch(`${urls.agent}/a2a`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'message/stream', params: { message } }),
  });
  const events = await answer.text();
  expect(events).toContain('"name":"calculator","phase":"completed","result":"6*7 = 42"');
  const deltas = [...events.matchAll(/"answer","parts":\[\{"kind":"text","text":"([^"]*)"/g)];
  expect(deltas.map(([, text]) => text).join('')).toBe('Tiny models say little.');
  expect(events).toContain('"state":"completed"');
});

it('the agent and research stream from one and the same process', async () => {
  for (const [name, model] of [
    ['agent', 'trunkline-agent'],
    ['research', 'research-chat'],
  ] as const) {
    const client = new OpenAI({ baseURL: `${urls[name]}/v1`, apiKey: 'any' });
    const messages = [{ role: 'user' as const, content: 'hello' }];
    const stream = await client.chat.completions.create({ model, messages, stream: true });
    let text = '';
    for await (const { choices } of stream) text += choices[0]?.delta.content ?? '';
    expect(text).toContain('Tiny models say little.');
  }
  expect(modelProcesses(child)).toBe(1);
});

it('doctor --probe loads the file and tries what it can do', async () => {
  const doctor = startChild(launcher, { arguments: ['doctor', '--probe', '--json'], environment });
  await doctor.exited;
  const findings = JSON.parse(doctor.output()) as { subject: string; state: string; words: string }[];
  const said = Object.fromEntries(
    findings.map(({ subject, state, words }) => [subject, `${state} ${words}`]),
  );
  expect(said).toMatchObject({
    model: expect.stringMatching(/^ok .*tiny\.gguf: 0\.6 MiB, architecture llama/),
    'model answer': expect.stringContaining('ok answers within'),
    'model context': 'ok takes 65536 tokens, prompt and answer together',
    'model images': expect.stringContaining('warning'),
  });
});

it('an agent whose configuration names an endpoint leaves the file alone', async () => {
  const [own, server] = [temporaryHome(), await startModelServer({})];
  mkdirSync(join(own.environment.TRUNKLINE_HOME ?? '', 'models'), { recursive: true });
  writeTinyGguf(join(own.environment.TRUNKLINE_HOME ?? '', 'models', 'tiny.gguf'));
  writeFileSync(join(own.path, 'agent.yaml'), `model: {api_base: "${server.url}", name: other}\n`);
  const alone = startChild(launcher, {
    arguments: ['agent', '--port', '0', '--ui', 'none'],
    environment: { ...own.environment, ...model, LLM_API_KEY: 'key', CORE_CONFIG_DIR: own.path },
  });
  try {
    await alone.waitForLine(/^http:/, 60_000);
    expect(modelProcesses(alone)).toBe(0);
  } finally {
    await alone.kill('SIGTERM');
    await server.stop();
    own.remove();
  }
});

/** Children that hold a model in memory. */
function modelProcesses({ pid }: Child): number {
  // Fails where there are none.
  const { stdout } = spawnSync('ps', ['-o', 'args=', '--ppid', String(pid)], { encoding: 'utf8' });
  return stdout.match(/gguf\/child\.ts|\.trunkline\/child-/g)?.length ?? 0;
}
