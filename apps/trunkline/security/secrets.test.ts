import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { agentOptions } from '@trunkline/agent';
import { researchOptions } from '@trunkline/research';
import { switchboardOptions } from '@trunkline/switchboard';
import { startModelServer } from '@trunkline/testing';
import { voiceOptions } from '@trunkline/voice';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { concrete, keyOf, keys, type Locked, type Name, names, startLocked } from './security.suite.ts';

const mark = 'never-to-be-seen';
/** Those that must have a form of their own. */
const forms: Record<string, string> = {
  SEARXNG_BASIC_AUTH: `${mark}-user:${mark}-password`,
  ICE_SERVERS: `[{"urls":"turn:127.0.0.1:9","username":"u","credential":"${mark}-turn"}]`,
};
/** Set by the suite itself, which has to know them; and NATS, where setting one switches the bus. */
const elsewhere = [
  'A2A_AUTH_TOKEN',
  'RESEARCH_AUTH_TOKEN',
  'SWITCHBOARD_API_KEY',
  'NATS_PASSWORD',
  'NATS_TOKEN',
];

/** Every secret of every table, each with a value that can be recognised. */
function markedSecrets(): Record<string, string> {
  const tables = [voiceOptions, agentOptions, researchOptions, switchboardOptions];
  const secret = tables.flatMap(({ options }) => Object.values(options)).filter((option) => option.secret);
  const variables = secret.flatMap(({ env }) => env).filter((name) => !elsewhere.includes(name));
  return Object.fromEntries(variables.map((name) => [name, forms[name] ?? `${mark}-${name.toLowerCase()}`]));
}

let locked: Locked;
let model: Awaited<ReturnType<typeof startModelServer>>;
const secrets = markedSecrets();

beforeAll(async () => {
  // A model that refuses every key, and says which one it was shown.
  model = await startModelServer({
    script: () => ({ fault: 'status', status: 401, message: `bad key ${secrets.LLM_API_KEY}` }),
  });
  const nowhere = 'http://127.0.0.1:9';
  locked = await startLocked({
    env: {
      ...secrets,
      LLM_GATEWAY_URL: model.url,
      LLM_MODEL: 'm',
      SEARXNG_URL: `http://someone:${mark}-in-url@127.0.0.1:9`,
      BRAVE_API_URL: nowhere,
      TAVILY_API_URL: nowhere,
      CODEHOST_API_URL: nowhere,
      TRACKER_API_URL: nowhere,
      TRACKER_CLIENT_ID: 'client',
      CLOUD_CLIENT_ID: 'client',
      CLOUD_API_URL: nowhere,
      CLOUD_TOKEN_URL: nowhere,
      CHAT_API_URL: nowhere,
      VECTOR_URL: nowhere,
      SECRETS_API_URL: nowhere,
      TRACE_HOST: nowhere,
      TRACE_PUBLIC_KEY: 'public',
    },
  });
});
afterAll(async () => {
  await locked.stop();
  await model.stop();
});

/** The marked ones, those of the suite, and the one that the services made for themselves. */
const known = () => [
  mark,
  ...Object.values(keys),
  readFileSync(join(locked.home, 'family-secret'), 'utf8').trim(),
];
const leaks = (text: string) => known().filter((secret) => text.includes(secret));

async function answerOf(name: Name, method: string, path: string, body = '"nothing"') {
  const controller = new AbortController();
  const hasBody = ['POST', 'PUT', 'PATCH'].includes(method);
  const response = await fetch(locked.target(name).url + path, {
    method,
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0', ...keyOf(name, path) },
    signal: controller.signal,
    ...(hasBody && { body }),
  });
  const isStream = response.headers.get('content-type')?.includes('event-stream') === true;
  const text = isStream ? '' : await response.text();
  controller.abort();
  return JSON.stringify([...response.headers]) + text;
}

it('has a marked value for every secret there is', () => {
  expect(Object.keys(secrets).length).toBeGreaterThan(15);
});

describe.each(names)('%s', (name) => {
  it('shows no secret at any route, not even to the holder of its key', async () => {
    const routes = locked.target(name).routes();
    const answers = routes.map(async ({ method, path }) => {
      const said = await answerOf(name, method === 'ALL' ? 'POST' : method, concrete(path));
      // Browsers need the credential of the TURN server to place a call.
      const found = leaks(path === '/api/ice' ? '' : said);
      return found.map((secret) => `${method} ${path} shows ${secret}`);
    });
    expect((await Promise.all(answers)).flat()).toEqual([]);
  });

  it('shows none when the model fails and names the key', async () => {
    const message = { messageId: '1', role: 'ROLE_USER', parts: [{ text: 'hello' }] };
    const sent = await answerOf(name, 'POST', '/message:send', JSON.stringify({ message }));
    const chat = { model: 'm', messages: [{ role: 'user', content: 'hello' }] };
    const completed =
      name === 'voice' ? '' : await answerOf(name, 'POST', '/v1/chat/completions', JSON.stringify(chat));
    expect(leaks(sent + completed)).toEqual([]);
  });
});

it('writes none to the log, though much went wrong', () => {
  expect(model.requests.some(({ headers }) => headers.authorization?.includes(mark))).toBe(true);
  expect(locked.log.length).toBeGreaterThan(50);
  expect(locked.log.filter((line) => leaks(line).length > 0)).toEqual([]);
});

it('says none in the words about a setting that cannot be used', async () => {
  for (const [variable, value] of [
    ['ICE_SERVERS', `{"credential":"${mark}"`],
    ['SEARXNG_BASIC_AUTH', mark],
    ['SEARXNG_URL', `ftp://a:${mark}@x`],
    ['LLM_GATEWAY_URL', `http://a:${mark}@[`],
  ] as const) {
    const failure = await startLocked({ env: { [variable]: value } }).then(
      () => undefined,
      (error: Error) => error,
    );
    expect(failure?.message).toContain(variable);
    expect(leaks(String(failure?.stack))).toEqual([]);
  }
});
