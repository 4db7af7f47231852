import { execFileSync } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { createA2aClient } from '../client/client.ts';
import type { RemoteAgent } from '../client/remote-agent.ts';
import { agentsOfThisFile, asksForName, echo, SteppedAgent } from '../fixtures/agents.ts';
import type { AgentScript } from '../fixtures/start-agent.ts';
import type { A2aServerOptions } from '../server.ts';
import { startGrpc } from './start-grpc.ts';

const startAgent = agentsOfThisFile();
const client = createA2aClient();
const closers: (() => Promise<void> | void)[] = [];
afterAll(async () => {
  for (const close of closers) await close();
});

/** An agent that is reached over gRPC alone; its card stands at another port, as the addresses given here. */
async function start(
  script: AgentScript,
  options: Partial<A2aServerOptions> = {},
  { address = (port: number) => `127.0.0.1:${port}`, tls = {} } = {},
) {
  const agent = await startAgent(script, options);
  const off = { grpcCertFile: undefined, grpcKeyFile: undefined };
  const grpc = await startGrpc(
    { host: '127.0.0.1', grpcPort: 0, ...off, ...tls },
    'A2A',
    agent,
    agent.logger,
  );
  if (grpc === undefined) throw new Error('gRPC did not start.');
  const entry = { url: address(grpc.port), protocolBinding: 'GRPC', protocolVersion: '1.0' };
  const capabilities = { streaming: true, pushNotifications: true, extendedAgentCard: true };
  const seen: (string | undefined)[] = [];
  const cards = createServer((request, response) => {
    seen.push(request.headers.authorization);
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ name: 'gRPC alone', supportedInterfaces: [entry], capabilities }));
  });
  await new Promise<void>((resolve) => cards.listen(0, '127.0.0.1', resolve));
  closers.push(grpc.stop, () => void cards.close());
  const url = `http://127.0.0.1:${(cards.address() as AddressInfo).port}`;
  return { remote: { name: 'Scout', url } satisfies RemoteAgent, agent, seen, grpc };
}

describe('an agent that offers gRPC alone', () => {
  it('is asked, asks back, and has its tasks read and listed', async () => {
    const { remote } = await start(asksForName);
    const asked = await client.send(remote, { text: 'hi' });
    expect(asked.state).toBe('input-required');
    const answer = { text: 'Ada', ...(asked.taskId !== undefined && { taskId: asked.taskId }) };
    expect(await client.ask(remote, answer)).toBe('Hello Ada');
    expect((await client.get(remote, asked.taskId ?? '')).text).toBe('Hello Ada');
    expect((await client.list(remote)).tasks.map(({ taskId }) => taskId)).toEqual([asked.taskId]);
    await expect(client.get(remote, 'nowhere')).rejects.toMatchObject({
      code: 'agent_error',
      message: /Task not found/,
    });
  });

  it('streams, is followed, and is told to cancel when the caller leaves', async () => {
    const stepped = new SteppedAgent();
    const { remote } = await start(stepped.script);
    const leaving = new AbortController();
    const events = client.stream(remote, { text: 'work' }, { signal: leaving.signal, cancelOnAbort: true });
    const reader = events[Symbol.asyncIterator]();
    const first = (await reader.next()).value;
    const taskId = first?.type === 'task-start' ? first.taskId : '';
    const follower = client.subscribe(remote, taskId)[Symbol.asyncIterator]();
    expect((await follower.next()).value).toMatchObject({ type: 'task-start' });
    stepped.step({ type: 'text-delta', text: 'so far' });
    expect((await reader.next()).value).toEqual({ type: 'text-delta', text: 'so far' });
    expect((await follower.next()).value).toEqual({ type: 'text-delta', text: 'so far' });
    const next = reader.next();
    leaving.abort(new Error('gone'));
    await expect(next).rejects.toThrow('gone');
    await waitFor(async () => (await client.get(remote, taskId)).state === 'canceled');
  });

  it('keeps webhooks', async () => {
    const { remote } = await start(asksForName, { push: { allowedHosts: ['127.0.0.1'] } });
    const { taskId = '' } = await client.send(remote, { text: 'hi' });
    const hook = await client.setPush(remote, taskId, { id: 'one', url: 'http://127.0.0.1:9/', token: 't' });
    expect(hook).toEqual({ id: 'one', taskId, url: 'http://127.0.0.1:9/' });
    expect(await client.getPush(remote, taskId, 'one')).toEqual(hook);
    await client.deletePush(remote, taskId, 'one');
    expect(await client.listPush(remote, taskId)).toEqual([]);
  });

  it('gets our credentials as metadata; the card is read without them', async () => {
    const { remote, seen } = await start(echo, {
      credentials: { bearer: 'sesame' },
      extendedCard: () => ({ description: 'for you' }),
    });
    const known = { ...remote, credentials: { bearer: 'sesame' } };
    expect(await client.ask(known, { text: 'x' })).toContain('x');
    expect((await client.extendedCard(known)).description).toBe('for you');
    expect(seen.every((header) => header === undefined)).toBe(true);
    await expect(client.ask(remote, { text: 'x' })).rejects.toMatchObject({ code: 'agent_unauthorized' });
    // A signature covers the body of an HTTP request.
    const signing = { ...remote, credentials: { hmacSecret: 's' } };
    await expect(client.ask(signing, { text: 'x' })).rejects.toThrow(/no way that we know/);
  });

  it('is found by each way to write its address, and nowhere but on the configured host', async () => {
    const forms = ['http://127.0.0.1:', 'grpc://localhost:', '0.0.0.0:', ':', 'dns:///127.0.0.1:'];
    for (const form of forms) {
      const { remote } = await start(echo, {}, { address: (port) => `${form}${port}` });
      expect(await client.ask(remote, { text: 'x' }), form).toContain('x');
    }
    const { remote, grpc } = await start(echo, {}, { address: (port) => `192.0.2.1:${port}` });
    await expect(client.ask(remote, { text: 'x' })).rejects.toMatchObject({
      code: 'agent_elsewhere',
      message: expect.stringContaining(`192.0.2.1:${grpc.port}`),
    });
    const nowhere = await start(echo, {}, { address: (port) => `other.invalid:${port}` });
    expect(await client.ask(nowhere.remote, { text: 'x' })).toContain('x');
    const allowed = { ...nowhere.remote, cardHosts: ['other.invalid'] };
    await expect(client.ask(allowed, { text: 'x' })).rejects.toMatchObject({
      code: 'agent_unreachable',
      // Without the addresses that gRPC has in its words.
      message: expect.stringMatching(/could not be reached\.$/),
    });
  });

  it('is encrypted where its address says so: a certificate that nobody vouches for is refused', async () => {
    const directory = temporaryDirectory();
    closers.push(() => directory.remove());
    const [grpcCertFile, grpcKeyFile] = [join(directory.path, 'cert.pem'), join(directory.path, 'key.pem')];
    const made = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1'];
    const files = ['-subj', '/CN=127.0.0.1', '-keyout', grpcKeyFile, '-out', grpcCertFile];
    execFileSync('openssl', ['req', '-x509', ...made, ...files], { stdio: 'ignore' });
    const tls = { grpcCertFile, grpcKeyFile };
    const { remote } = await start(echo, {}, { address: (port) => `grpcs://127.0.0.1:${port}`, tls });
    const error: unknown = await client.ask(remote, { text: 'x' }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'agent_unreachable' });
    expect(String((error as Error).cause)).toMatch(/self.signed/i);
  });
});
