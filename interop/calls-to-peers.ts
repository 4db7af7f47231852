import { createA2aClient, type OutgoingMessage, type RemoteAgent } from '@trunkline/a2a';
import { collect, contains, same, startWebhook } from './calls-to-us.ts';
import type { Case } from './peer.ts';
import type { Services } from './services.ts';

const client = createA2aClient();

/** Our services that hand work on, and what they do with each peer. */
export const serviceCases = [
  'agent: send',
  'voice: send',
  'voice: question',
  'switchboard: send',
  'switchboard: stream',
  'switchboard: question',
  'switchboard: cancel',
  'switchboard: push',
  'switchboard: files',
] as const;
export type ServiceCase = (typeof serviceCases)[number];

interface Target {
  name: string;
  url: string;
  /** Whether it can cancel a task; where not, a waiting one ends by "go". */
  cancels: boolean;
  /** Ours, which have the peer as a delegate. */
  services: Services;
}

/** How our client calls a peer's server. Each throws the reason when the case fails. */
export const callsToPeers: Record<Case, (target: Target) => Promise<void>> = {
  async card(target) {
    if ((await client.card(target)).name === '') throw new Error('the card has no name');
  },
  async send(target) {
    contains((await client.send(target, { text: 'hello' })).text, 'Peer says: hello');
  },
  async stream(target) {
    const events = await collect(client.stream(target, { text: 'hello' }));
    const end = events.at(-1);
    if (end?.type !== 'task-end') throw new Error(`the stream ended with ${end?.type ?? 'nothing'}`);
    same(end.reply.state, 'completed', 'end of the stream');
    contains(end.reply.text, 'Peer says: hello');
    const pieces = events.map((event) => (event.type === 'text-delta' ? event.text : '')).join('');
    // BeeAI sends the whole answer with the last state.
    if (pieces !== '') contains(pieces, 'Peer says: hello');
  },
  async resubscribe(target) {
    const taskId = await startWaiting(target);
    const events = client.subscribe(target, taskId)[Symbol.asyncIterator]();
    await events.next();
    if (target.cancels) await client.cancel(target, taskId);
    else await client.send(target, { text: 'go' });
    let last: unknown;
    for (let next = await events.next(); !next.done; next = await events.next()) last = next.value;
    contains(JSON.stringify(last), target.cancels ? 'canceled' : 'completed');
  },
  async question(target) {
    const asked = await client.send(target, { text: 'ask' });
    same(asked.state, 'input-required', 'state of the question');
    const { taskId, contextId } = asked;
    const answered = await client.send(target, {
      text: 'Ulm',
      ...(taskId !== undefined && { taskId }),
      ...(contextId !== undefined && { contextId }),
    });
    contains(answered.text, 'Peer says: Ulm');
  },
  async cancel(target) {
    const { state } = await whileWaiting(target, (taskId) => client.cancel(target, taskId));
    same(state, 'canceled', 'state after cancel');
  },
  async push(target) {
    await using hook = await startWebhook();
    const push = { url: hook.url, token: 'interop' };
    await client.send(target, { text: 'hello', push });
    await hook.until((body) => /completed/i.test(body));
  },
  async errors(target) {
    const error = await client.get(target, 'no-such-task').then(
      () => new Error('an unknown task was answered'),
      (reason: unknown) => (/not.?found|-32001|no task/i.test(String(reason)) ? undefined : reason),
    );
    if (error !== undefined) throw error;
  },
  async files(target) {
    const bytes = Buffer.from('seven').toString('base64');
    const parts = [{ type: 'file' as const, name: 'note.txt', mediaType: 'text/plain', bytes }];
    contains(
      (await client.send(target, { text: 'file', parts })).text,
      `Peer got note.txt text/plain ${bytes}`,
    );
  },
};

/** How our services call a peer's server when they are asked to. */
export const callsByServices: Record<ServiceCase, (target: Target) => Promise<void>> = {
  'agent: send': ({ name, services }) => handOn(services, 'agent', name),
  // The contract of voice: the first text part of the answer counts.
  'voice: send': ({ name, services }) => handOn(services, 'voice', name, 'Peer says:'),
  async 'voice: question'({ name, services }) {
    const voice = { name: 'voice', url: services.urls.voice };
    const asked = await client.send(voice, { text: `ask ${name} to ask` });
    contains(asked.text, 'Which city?');
  },
  async 'switchboard: send'(target) {
    contains((await client.send(switchboard(target), to(target, 'hello'))).text, 'Peer says: hello');
  },
  async 'switchboard: stream'(target) {
    const events = await collect(client.stream(switchboard(target), to(target, 'hello')));
    const end = events.at(-1);
    contains(end?.type === 'task-end' ? end.reply.text : '', 'Peer says: hello');
  },
  async 'switchboard: question'(target) {
    const asked = await client.send(switchboard(target), to(target, 'ask'));
    same(asked.state, 'input-required', 'state of the question');
    contains(asked.statusText, 'Which city?');
    const { taskId } = asked;
    const answer = { ...to(target, 'Ulm'), ...(taskId !== undefined && { taskId }) };
    contains((await client.send(switchboard(target), answer)).text, 'Peer says: Ulm');
  },
  async 'switchboard: cancel'(target) {
    const taskId = await startWaiting(switchboard(target), to(target, 'wait'));
    same((await client.cancel(switchboard(target), taskId)).state, 'canceled', 'state after cancel');
  },
  async 'switchboard: push'(target) {
    await using hook = await startWebhook();
    const push = { url: hook.url, token: 'interop' };
    await client.send(switchboard(target), { ...to(target, 'hello'), push });
    await hook.until((body) => /completed/i.test(body));
  },
  async 'switchboard: files'(target) {
    const bytes = Buffer.from('seven').toString('base64');
    const parts = [{ type: 'file' as const, name: 'note.txt', mediaType: 'text/plain', bytes }];
    contains(
      (await client.send(switchboard(target), { ...to(target, 'file'), parts })).text,
      `Peer got note.txt text/plain ${bytes}`,
    );
  },
};

const switchboard = ({ services }: Target) => ({ name: 'switchboard', url: services.urls.switchboard });

const to = ({ name }: Target, text: string) => ({ text, metadata: { agent: name } });

async function handOn(
  services: Services,
  service: 'agent' | 'voice',
  name: string,
  answer = 'Peer says: hello',
): Promise<void> {
  const ours = { name: service, url: services.urls[service] };
  contains((await client.send(ours, { text: `ask ${name} to hello` })).text, answer);
}

/** Starts a task that works until it is cancelled, and follows it until `use` is done: some servers end what nobody follows. */
async function whileWaiting<Result>(
  target: RemoteAgent,
  use: (taskId: string) => Promise<Result>,
  message: OutgoingMessage = { text: 'wait' },
): Promise<Result> {
  for await (const event of client.stream(target, message))
    if (event.type === 'task-start' && event.taskId !== undefined) return await use(event.taskId);
  throw new Error('no task was started');
}

/** Starts a task that works until it is cancelled; gives its id as soon as it is known. */
function startWaiting(target: RemoteAgent, message?: OutgoingMessage): Promise<string> {
  return whileWaiting(target, async (taskId) => taskId, message);
}
