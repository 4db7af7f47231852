import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Environment } from '@trunkline/config';
import { type ChatRequestBody, type ModelServer, startModelServer } from '@trunkline/testing';
import { type Locked, type Name, startLocked } from './security.suite.ts';

/** The agent's own model, so that a test can tell whose request the model server received. */
export const agentModel = 'model-of-the-agent';

/** Without any token, as on the first run. */
export const openMode: Environment = { A2A_AUTH_TOKEN: '', RESEARCH_AUTH_TOKEN: '', SWITCHBOARD_API_KEY: '' };

export interface Attack extends Locked {
  model: ModelServer;
  url(name: Name): string;
  /** Headers of a browser that the operator has signed in. */
  operator(name: Name): Promise<Record<string, string>>;
  operatorKey(): string;
}

/** All four services with the operator's check on, and a model that obeys whatever it reads. */
export async function startAttack({
  env = {},
  files = {},
  script = obeyEverything,
}: {
  env?: Environment;
  files?: Record<string, string | undefined>;
  script?: (body: ChatRequestBody) => ReturnType<typeof obeyEverything>;
} = {}): Promise<Attack> {
  const model = await startModelServer({ script });
  const locked = await startLocked({
    env: {
      TRUNKLINE_OPEN: '0',
      LLM_GATEWAY_URL: model.url,
      LLM_API_KEY: 'k',
      LLM_MODEL: 'model-of-the-others',
      CORE_MODEL: agentModel,
      ...env,
    },
    files,
  }).catch(async (error: unknown) => {
    await model.stop();
    throw error;
  });
  const operatorKey = () => readFileSync(join(locked.home, 'operator-key'), 'utf8').trim();
  const url = (name: Name) => locked.target(name).url;
  return {
    ...locked,
    model,
    url,
    operatorKey,
    operator: (name) => signIn(url(name), operatorKey()),
    stop: async () => {
      await locked.stop();
      await model.stop();
    },
  };
}

async function signIn(url: string, key: string): Promise<Record<string, string>> {
  const response = await fetch(`${url}/operator`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ key }),
  });
  const cookie = response.headers.get('set-cookie')?.split(';')[0];
  if (cookie === undefined) throw new Error(`The operator was not signed in: ${response.status}`);
  return { cookie };
}

/** Calls every tool that it finds ordered, in a message or in what another tool said; else repeats what it read. */
export function obeyEverything({ messages }: ChatRequestBody) {
  const last = messages.at(-1);
  const read = typeof last?.content === 'string' ? last.content : JSON.stringify(last?.content ?? '');
  const call = orderIn(read) ?? orderIn(read.replaceAll('\\"', '"').replaceAll('\\\\', '\\'));
  if (call !== undefined) return { toolCalls: [call] };
  return `Read: ${read}`;
}

/** The text that makes the obeying model call a tool. */
export function order(name: string, given: object): string {
  return `CALL${JSON.stringify({ name, arguments: given })}`;
}

function orderIn(read: string): { name: string; arguments: object } | undefined {
  const start = read.indexOf('CALL{');
  if (start < 0) return undefined;
  for (let end = read.lastIndexOf('}'); end > start; end = read.lastIndexOf('}', end - 1)) {
    try {
      return JSON.parse(read.slice(start + 4, end + 1)) as { name: string; arguments: object };
    } catch {
      // A shorter piece may be whole.
    }
  }
  return undefined;
}

export interface RawAnswer {
  status: number;
  text: string;
  headers: Record<string, string | string[] | undefined>;
}

/** Sends a request as it is written: no tidied path, no added header. */
export function raw(
  url: string,
  method: string,
  path: string,
  { headers = {}, body }: { headers?: Record<string, string | string[]>; body?: string } = {},
): Promise<RawAnswer> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, path, method, headers }, (response) => {
      const { statusCode: status = 0, headers: received } = response;
      if (received['content-type']?.includes('event-stream')) {
        sent.destroy();
        return resolve({ status, text: '', headers: received });
      }
      text(response).then((read) => resolve({ status, text: read, headers: received }), reject);
    });
    sent.once('error', reject).end(body);
  });
}

/** Sends JSON and reads JSON, whatever the status. */
export async function json<Body = Record<string, unknown>>(
  url: string,
  body?: unknown,
  headers: Record<string, string> = {},
  method = body === undefined ? 'GET' : 'POST',
): Promise<{ status: number; body: Body; text: string }> {
  const response = await fetch(url, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const read = await response.text();
  return { status: response.status, text: read, body: parsed(read) as Body };
}

function parsed(read: string): unknown {
  try {
    return JSON.parse(read);
  } catch {
    return {};
  }
}

/** Every file under a folder with its bytes. */
export function filesUnder(folder: string): { path: string; bytes: Buffer }[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({ path, bytes: readFileSync(path) }));
}

interface Task {
  id: string;
  contextId: string;
  status: { state: string; message?: { parts: { text?: string }[] } };
  artifacts?: { parts: { text?: string }[] }[];
}

/** A task by A2A 0.3, blocking. */
export async function ask(
  url: string,
  words: string,
  { headers = {}, more = {} }: { headers?: Record<string, string>; more?: object } = {},
): Promise<{ status: number; task: Task; text: string }> {
  const message = {
    role: 'user',
    messageId: crypto.randomUUID(),
    parts: [{ kind: 'text', text: words }],
    ...more,
  };
  const call = { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } };
  const { status, body, text } = await json<{ result: Task }>(`${url}/a2a`, call, headers);
  return { status, task: body.result, text };
}

export function question({ status }: Task): string {
  return (status.message?.parts ?? []).map(({ text }) => text ?? '').join('');
}
