import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { dirname, join } from 'node:path';
import {
  FakeGitHub,
  FakeGoogle,
  FakeSignal,
  freePort,
  natsMissing,
  startNatsServer,
  temporaryDirectory,
  waitFor,
} from '@trunkline/testing';
import { afterEach, expect, it, onTestFinished } from 'vitest';
import { agent } from './fixtures/crew.ts';
import { type Json, startSwitchboard, type TestSwitchboard } from './fixtures/start-switchboard.ts';

const files = { 'agents/helm.yaml': agent('helm', 'role: general\nskills: [{ name: chat }]') };
const messenger = { MESSENGER_NUMBER: '+4930123', SWITCHBOARD_DELIVERY_RETRY_MS: '10' };
let boards: TestSwitchboard[] = [];
afterEach(async () => {
  await Promise.all(boards.map((board) => board.stop()));
  boards = [];
});
const start = async (options: Parameters<typeof startSwitchboard>[0]) => {
  const board = await startSwitchboard(options);
  boards.push(board);
  return board;
};
const failures = (board: TestSwitchboard, surface: string) =>
  waitFor(async () => {
    const { body } = await board.call(`/api/deliveries?state=failed&surface=${surface}`);
    return body.data.deliveries.length > 0 ? (body.data.deliveries as Json[]) : undefined;
  });

it('a message to a surface that is off is listed with the variable to set, and is sent once that is on', async () => {
  const signal = await FakeSignal.start('+4930123');
  const home = temporaryDirectory();
  const off = await start({ files, home: home.path });
  await off.call('/publish', { topic: 'message.outbound.messenger.+491', payload: { content: 'Hello' } });
  const [failure] = await failures(off, 'messenger');
  expect(failure.error).toMatch(/messenger is off.*MESSENGER_URL and MESSENGER_NUMBER/);
  expect((await off.call(`/api/deliveries/${failure.id}/replay`, {})).status).toBe(404);
  boards = [];
  await off.stop();
  const on = await start({ files, home: home.path, env: { ...messenger, MESSENGER_URL: signal.url } });
  expect((await on.call(`/api/deliveries/${failure.id}/replay`, {})).status).toBe(202);
  await waitFor(() => signal.sent.length === 1);
  expect(signal.sent[0]?.message).toBe('Hello');
  boards = [];
  await on.stop();
  await signal.stop();
  home.remove();
});

it('what came while a surface was off for a day is sent when it is on again', async () => {
  const signal = await FakeSignal.start('+4930123');
  const home = temporaryDirectory();
  const env = { ...messenger, MESSENGER_URL: signal.url };
  const stopped = await start({ files, home: home.path, env });
  boards = [];
  await stopped.stop();
  const off = await start({ files, home: home.path });
  await off.call('/publish', { topic: 'message.outbound.messenger.+491', payload: { content: 'Waited' } });
  await failures(off, 'messenger');
  boards = [];
  await off.stop();
  const on = await start({ files, home: home.path, env });
  const [sent] = await waitFor(async () => {
    const { body } = await on.call('/api/deliveries?state=sent&surface=messenger');
    return body.data.deliveries.length > 0 ? (body.data.deliveries as Json[]) : undefined;
  });
  expect(sent).toMatchObject({ attempts: 0, error: null });
  expect(signal.sent.map(({ message }) => message)).toEqual(['Waited']);
  boards = [];
  await on.stop();
  await signal.stop();
  home.remove();
});

it('a mail that could not be answered is answered later, and not written into a shared folder', async () => {
  const credentials = { clientId: 'client', clientSecret: 'secret-of-client', refreshToken: 'refresh-token' };
  const google = await FakeGoogle.start(credentials);
  google.mails.push({
    ...{ id: 'm1', threadId: 'thread-m1', labelIds: [], from: 'Ada <ada@x.example>' },
    ...{ subject: 'Private', text: 'Hello' },
  });
  const home = temporaryDirectory();
  const off = await start({ files, home: home.path });
  await off.call('/publish', { topic: 'cloud.mail.reply.m1', payload: { content: 'For you alone' } });
  const [failure] = await failures(off, 'cloud-mail');
  expect(failure.error).toMatch(/cloud is off.*CLOUD_REFRESH_TOKEN/);
  boards = [];
  await off.stop();
  const env = {
    CLOUD_CLIENT_ID: credentials.clientId,
    CLOUD_CLIENT_SECRET: credentials.clientSecret,
    CLOUD_REFRESH_TOKEN: credentials.refreshToken,
    CLOUD_TOKEN_URL: `${google.url}/token`,
    CLOUD_API_URL: google.url,
  };
  const on = await start({ files, home: home.path, env });
  expect((await on.call(`/api/deliveries/${failure.id}/replay`, {})).status).toBe(202);
  const sent = await waitFor(() => google.sent[0]);
  expect(sent.threadId).toBe('thread-m1');
  boards = [];
  await on.stop();
  await google.stop();
  home.remove();
});

it('a message that nobody takes is listed with the reason, and finds its agent when it is sent again', async () => {
  const board = await start({ files: { 'fleet.yaml': '' } });
  await board.call('/publish', {
    topic: 'message.inbound.cli',
    payload: { content: 'Anybody?' },
    correlationId: 'lost',
  });
  const [failure] = await failures(board, 'router');
  expect(failure).toMatchObject({ topic: 'message.inbound.cli', correlationId: 'lost' });
  expect(failure.error).toMatch(/no agent helm/);
  board.write('agents/helm.yaml', files['agents/helm.yaml']);
  await waitFor(async () => (await board.call('/api/agents')).body.data.length > 0);
  expect((await board.call(`/api/deliveries/${failure.id}/replay`, {})).status).toBe(202);
  const flow = await waitFor(async () => {
    const { body } = await board.call('/api/flows/skill-lost');
    return body.data?.status === 'complete' ? body.data : undefined;
  });
  expect(flow).toMatchObject({ targetAgent: 'helm', requestPreview: 'Anybody?' });
});

it('a broken incidents.yaml is kept aside when an incident is reported, and a valid edit is never lost', async () => {
  const board = await start({ files });
  const report = (title: string) => board.call('/api/incidents', { title, severity: 'high' });
  await report('First');
  const edited = readFileSync(join(board.workspace, 'incidents.yaml'), 'utf8').replace('First', 'Edited');
  // Reported at once, before the switchboard has read the edit.
  board.write('incidents.yaml', edited);
  expect((await report('Second')).status).toBe(201);
  expect(readFileSync(join(board.workspace, 'incidents.yaml'), 'utf8')).toContain('Edited');
  const broken = 'incidents:\n  - title: [half';
  board.write('incidents.yaml', broken);
  expect((await report('Third')).status).toBe(201);
  const aside = readdirSync(board.workspace).find((name) => name.startsWith('incidents.yaml.broken-'));
  expect(readFileSync(join(board.workspace, aside ?? ''), 'utf8')).toBe(broken);
  const titles = (await board.call('/api/incidents')).body.data.map(({ title }: Json) => title);
  expect(titles).toEqual(['Edited', 'Second', 'Third']);
});

it('pipes in folders of the workspace are skipped with a warning; start and stop do not wait for them', async () => {
  const home = temporaryDirectory();
  const workspace = join(home.path, 'switchboard', 'workspace');
  const pipes = ['agents/pipe.yaml', 'crons/pipe.yaml', 'channels.yaml'].map((name) => join(workspace, name));
  for (const pipe of pipes) {
    mkdirSync(dirname(pipe), { recursive: true });
    execFileSync('mkfifo', [pipe]);
  }
  const mate = agent('mate', 'role: general\nskills: [{ name: steer }]');
  const running = await startSwitchboard({ files: { ...files, 'agents/mate.yaml': mate }, home: home.path });
  const { problems, agents } = (await running.call('/api/workspace')).body.data;
  expect(agents.map(({ name }: Json) => name)).toContain('mate');
  for (const pipe of pipes)
    expect(problems).toContainEqual(
      expect.objectContaining({ file: pipe, error: expect.stringContaining('a pipe, a socket or a device') }),
    );
  await running.stop();
  home.remove();
});

/** Starts with files that are none, and reports an incident before and after its file can be read. */
async function reportPastPipes(env: Record<string, string>): Promise<void> {
  const home = temporaryDirectory();
  const workspace = join(home.path, 'switchboard', 'workspace');
  const place = (name: string) => join(workspace, name);
  mkdirSync(workspace, { recursive: true });
  for (const name of ['incidents.yaml', 'channels.yaml']) execFileSync('mkfifo', [place(name)]);
  symlinkSync('/dev/null', place('approvers.yaml'));
  const socket = createServer().listen(place('agents.yaml'));
  const board = await start({ files, home: home.path, env });
  const report = () => board.call('/api/incidents', { title: 'First', severity: 'high' });
  const refused = await report();
  expect(refused.status).toBe(409);
  expect(JSON.stringify(refused.body)).toMatch(/incidents\.yaml: this is a pipe, a socket or a device/);
  rmSync(place('incidents.yaml'));
  expect((await report()).status).toBe(201);
  boards = [];
  await board.stop();
  socket.close();
  home.remove();
}

it('a pipe in the place of incidents.yaml is told to who reports one, and nobody waits for it', () =>
  reportPastPipes({}));

it.skipIf(natsMissing !== undefined)(
  'neither does a switchboard that shares its files, at its start',
  async () => {
    const nats = await startNatsServer();
    await reportPastPipes({ NATS_URL: nats.url });
    await nats.stop();
  },
);

it.each([
  ['that is gone', async () => `http://127.0.0.1:${await freePort()}`, 'connection refused'],
  // No label of a name is that long, so that no name server is asked.
  ['at a wrong host', async () => `http://${'n'.repeat(64)}.invalid:8080`, 'there is no such host'],
  ['that takes the connection and does not answer', silentServer, 'no answer in time'],
])('a Signal bridge %s is told with its address and the cause', async (_, place, cause) => {
  const url = await place();
  const board = await start({ files, env: { ...messenger, MESSENGER_URL: url } });
  const isTold = async () => {
    const { body } = await board.call('/api/plugins');
    return body.data.find(({ name, state }: Json) => name === 'messenger' && state === 'failed');
  };
  const plugin = await waitFor(isTold, { timeoutMs: 90_000 });
  expect(plugin.words).toBe(
    `Cannot receive from the Signal bridge at ${url}: ${cause}. Check MESSENGER_URL and that the bridge runs.`,
  );
});

async function silentServer(): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => void sockets.add(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

it("GitHub's Redeliver works for a delivery that failed, and names the flow of one that had worked", async () => {
  const secret = 'hook-secret-of-the-test';
  const github = await FakeGitHub.start({ token: 'token', login: 'owner', apps: {} });
  const env = {
    CODEHOST_TOKEN: 'token',
    CODEHOST_WEBHOOK_SECRET: secret,
    CODEHOST_WEBHOOK_PORT: '0',
    CODEHOST_API_URL: github.url,
  };
  const handle = { 'codehost.yaml': 'mentionHandle: Trunk-Bot' };
  const board = await start({ files: { ...files, ...handle }, env });
  const comment = {
    action: 'created',
    issue: { number: 7, title: 'Leak', html_url: 'https://x/7', user: { login: 'ada' } },
    comment: { id: 70, body: 'Please look, @trunk-bot', html_url: 'https://x/70', user: { login: 'ada' } },
    repository: { name: 'r', full_name: 'acme/r', owner: { login: 'acme' }, default_branch: 'main' },
    sender: { login: 'ada' },
  };
  const deliver = async (signed = secret) => {
    const place = `${board.url}/webhook/codehost`;
    const answer = await github.deliver(place, 'issue_comment', comment, { secret: signed, id: 'd-1' });
    return { status: answer.status, text: await answer.text() };
  };
  expect((await deliver('another-secret')).status).toBe(401);
  expect(await deliver()).toEqual({ status: 200, text: 'OK' });
  const { text } = await deliver();
  const [, flow] = /^Known, and not done again: (skill-\S+)$/.exec(text) ?? [];
  await waitFor(async () => (await board.call(`/api/flows/${flow}`)).status === 200);
  await github.stop();
});

it('what GitHub has stored is not written again though its answer was lost', async () => {
  const github = await FakeGitHub.start({ token: 'token', login: 'owner', apps: {} });
  const env = { CODEHOST_TOKEN: 'token', CODEHOST_API_URL: github.url, SWITCHBOARD_DELIVERY_RETRY_MS: '1' };
  const board = await start({ files, env });
  const place = 'message.outbound.codehost.acme.rocket.5';
  const kinds = { comment: place, reply: `${place}.comment.9`, review: `${place}.review` };
  for (const [kind, topic] of Object.entries(kinds)) {
    github.lostAnswers = 1;
    const content = `Answer to a ${kind}, ${'x'.repeat(66_000)}`;
    const { body } = await board.call('/publish', { topic, payload: { content } });
    const delivery = await waitFor(async () => {
      const { data } = (await board.call('/api/deliveries?limit=100')).body;
      return data.deliveries.find(({ id, state }: Json) => id === body.id && state !== 'queued');
    });
    expect(delivery, kind).toMatchObject({ state: 'sent' });
    // Two parts, each once; those of a review beyond the first are comments.
    const parts = github.posts.splice(0);
    expect(parts.map((part) => part.kind)).toEqual([kind, kind === 'review' ? 'comment' : kind]);
    expect(parts[0]?.body).toContain('Answer to a');
  }
  await github.stop();
});
