import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { Calls, Case, Reply } from './peer.ts';

/** A service of ours, as the cases ask it. */
export interface Service {
  url: string;
  question: string;
  /** What is in the answer to it. */
  answer: string;
  /** Words that begin a task which goes on until it is cancelled; left out, the cases have a task wait for an answer. */
  endless?: string;
}

/** How a peer's client calls a service of ours. Each throws the reason when the case fails. */
export const callsToUs: Record<Case, (calls: Calls, service: Service) => Promise<void>> = {
  async card({ card }, { url }) {
    const { name } = (await (await fetch(`${url}/.well-known/agent-card.json`)).json()) as { name: string };
    same(await need(card)(), name, 'name in the card');
  },
  async send({ send }, { question, answer }) {
    contains((await need(send)({ text: question })).text, answer);
  },
  async stream({ stream }, { question, answer }) {
    const events = await collect(need(stream)({ text: question }));
    if (events.length < 2) throw new Error(`the stream had ${events.length} event`);
    contains(events.map((event) => event.text).join(' '), answer);
  },
  async resubscribe(calls, { endless }) {
    const { send, subscribe, cancel } = calls;
    if (endless !== undefined) {
      const taskId = await begin(calls, endless);
      const states: (string | undefined)[] = [];
      for await (const { state } of need(subscribe)(taskId)) {
        if (states.length === 0) await need(cancel)(taskId);
        states.push(state);
      }
      return same(states.at(-1), 'canceled', 'end of the followed task');
    }
    const asked = await ask(send);
    const events = need(subscribe)(need(asked.taskId))[Symbol.asyncIterator]();
    const first = await events.next();
    same(first.value?.state, 'input-required', 'first state of the followed task');
    await need(send)({ text: 'blue', after: asked });
    // 0.3 ends with the question, 1.0 with the task.
    let last = first.value;
    for (let next = await events.next(); !next.done; next = await events.next()) last = next.value;
    if (!['input-required', 'completed'].includes(last?.state ?? ''))
      throw new Error(`the followed task ended as ${last?.state}`);
  },
  async question({ send }) {
    const asked = await ask(send);
    contains((await need(send)({ text: 'blue', after: asked })).text, 'You answered: "blue"');
  },
  async cancel(calls, { endless }) {
    const { send, cancel } = calls;
    const taskId = endless === undefined ? need((await ask(send)).taskId) : await begin(calls, endless);
    same((await need(cancel)(taskId)).state, 'canceled', 'state after cancel');
  },
  async push(calls, { endless }) {
    const { send, setPush, cancel } = calls;
    await using hook = await startWebhook();
    if (endless !== undefined) {
      const taskId = await begin(calls, endless);
      try {
        await need(setPush)(taskId, { url: hook.url, token: 'interop' });
      } finally {
        await need(cancel)(taskId);
      }
      // Awaited here: the webhook closes when this function returns.
      await hook.until((body) => /cancell?ed/i.test(body));
      return;
    }
    const asked = await ask(send);
    await need(setPush)(need(asked.taskId), { url: hook.url, token: 'interop' });
    await need(send)({ text: 'blue', after: asked });
    await hook.until((body) => /completed/i.test(body));
  },
  async errors({ get }) {
    const unknown = 'no-such-task';
    const error = await need(get)(unknown).then(
      () => new Error('an unknown task was answered'),
      (reason: unknown) => (/not.?found|-32001|no task/i.test(String(reason)) ? undefined : reason),
    );
    if (error !== undefined) throw error;
  },
  async files({ send }, { url }) {
    const file = {
      name: 'note.txt',
      mediaType: 'text/plain',
      bytes: Buffer.from('seven').toString('base64'),
    };
    const { taskId } = await need(send)({ text: 'what is 1+1', file });
    const response = await fetch(`${url}/a2a`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tasks/get', params: { id: need(taskId) } }),
    });
    const { result } = (await response.json()) as { result: { history: { parts: { file?: unknown }[] }[] } };
    const stored = result.history.flatMap(({ parts }) => parts).find((part) => part.file !== undefined);
    same(
      JSON.stringify(stored?.file),
      JSON.stringify({ bytes: file.bytes, name: file.name, mimeType: file.mediaType }),
      'file in the history',
    );
  },
};

/** Begins a task that goes on after the reader of its stream has left. */
async function begin({ stream }: Calls, text: string): Promise<string> {
  for await (const { taskId } of need(stream)({ text })) if (taskId !== undefined) return taskId;
  throw new Error('the stream named no task');
}

async function ask(send: Calls['send']): Promise<Reply> {
  const asked = await need(send)({ text: 'ask me for my favourite colour' });
  if (asked.state !== undefined) same(asked.state, 'input-required', 'state of the question');
  contains(asked.text, 'favourite colour');
  return asked;
}

export async function startWebhook() {
  const bodies: string[] = [];
  let arrived = Promise.withResolvers<void>();
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      bodies.push(body);
      response.end();
      arrived.resolve();
      arrived = Promise.withResolvers();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    /** Waits for a notification that fits; the limit is that of the case. */
    async until(fits: (body: string) => boolean) {
      while (!bodies.some(fits)) await arrived.promise;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

export async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

export function contains(text: string, wanted: string): void {
  if (!text.includes(wanted)) throw new Error(`"${wanted}" is not in the answer "${text.slice(0, 120)}"`);
}

export function same(actual: unknown, wanted: unknown, what: string): void {
  if (actual !== wanted) throw new Error(`${what} is ${String(actual)}, not ${String(wanted)}`);
}

function need<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('the peer has no such call, and its `lacks` does not say so');
  return value;
}
