import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Child, startChild, temporaryHome, writeTinyGguf } from '@trunkline/testing';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect, it } from 'vitest';

const launcher = join(import.meta.dirname, '../../../bin/trunkline.js');
const home = temporaryHome();
const urls: Record<string, string> = {};
let child: Child;

/** A file in the home is all that is needed: nothing else is set. */
beforeAll(async () => {
  const models = join(home.environment.TRUNKLINE_HOME ?? '', 'models');
  mkdirSync(models);
  writeTinyGguf(join(models, 'tiny.gguf'));
  const ports = { VOICE_PORT: '0', AGENT_PORT: '0', RESEARCH_PORT: '0', SWITCHBOARD_PORT: '0' };
  const model = { LLM_GATEWAY_URL: '', LLM_GGUF_PORT: '0', LLM_GGUF_CONTEXT: '65536', LLM_GGUF_THREADS: '1' };
  const environment = { ...home.environment, ...ports, ...model };
  child = startChild(launcher, { arguments: ['up'], environment });
  await child.waitForLine('Ctrl-C stops everything', 60_000);
  for (const [, name = '', url = ''] of child.output().matchAll(/^ {2}(\w+) +(http:\S+)/gm)) urls[name] = url;
}, 90_000);
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
  const children = execFileSync('ps', ['-o', 'args=', '--ppid', String(child.pid)], { encoding: 'utf8' });
  expect(children.match(/gguf\/child\.ts/g)).toHaveLength(1);
});
