import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { join } from 'node:path';
import {
  type Child,
  freePort,
  natsMissing,
  startChild,
  startModelServer,
  temporaryDirectory,
  temporaryHome,
  waitFor,
} from '@trunkline/testing';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { root } from './blocks.suite.ts';
import { interpolate, readCompose, readImage, secrets } from './compose.suite.ts';

const made = Object.fromEntries(secrets.map((name, index) => [name, `${index}e${index}-${name}`]));
const services = readCompose();

/** A value of compose.yaml for a process on this machine: the mounted folder is where it stands. */
function filledIn(service: string, more: Record<string, string>): Record<string, string> {
  const entries = Object.entries(services[service]?.environment ?? {});
  const environment = entries.map(([name, value]) => [
    name,
    interpolate(value, { ...made, ...more }).replace(/^\/deploy\//, `${join(root, 'deploy')}/`),
  ]);
  return { ...readImage().environment, ...Object.fromEntries(environment), ...more };
}

describe('the containers of compose.yaml, each as a process', () => {
  const home = temporaryHome();
  let child: Child | undefined;
  afterEach(async () => {
    await child?.kill('SIGTERM');
    home.remove();
  });

  /** Runs what the container would run; resolves with the port on loopback. */
  async function run(service: string, more: Record<string, string>): Promise<string> {
    const [program, ...words] = readImage().entryPoint;
    expect(program).toBe('node');
    const at = words.findIndex((word) => !word.startsWith('-'));
    const [script = '', ...rest] = words.slice(at);
    child = startChild(join(root, script), {
      nodeFlags: words.slice(0, at),
      arguments: [...rest, ...(services[service]?.command ?? [])],
      environment: { ...filledIn(service, more), ...home.environment },
    });
    const line = await child.waitForLine(/^http:\/\/\S+:\d+/, 60_000);
    return `http://127.0.0.1:${new URL(line).port}`;
  }

  it('the agent listens on all addresses, serves no pages and asks for the token [A003] [A037]', async () => {
    const model = await startModelServer();
    onTestFinished(() => model.stop());
    const url = await run('agent', { LLM_GATEWAY_URL: model.url, LLM_API_KEY: 'k', AGENT_PORT: '0' });
    const health = await fetch(`${url}/healthz`);
    expect(health.status).toBe(200);
    expect(await health.json()).toMatchObject({ ok: true, ui: 'none', setup_complete: true });
    // A service on 127.0.0.1 alone does not answer here.
    expect((await fetch(url.replace('127.0.0.1', '127.0.0.2').concat('/healthz'))).status).toBe(200);
    expect((await fetch(`${url}/app`)).status).toBe(404);
    expect((await fetch(`${url}/api/tools`)).status).toBe(401);
    const token = { authorization: `Bearer ${made.TRUNKLINE_TOKEN}` };
    expect((await fetch(`${url}/api/tools`, { headers: token })).status).toBe(200);
  });

  it('the agent ends at once without a model, and says what to set', async () => {
    const words = await run('agent', { AGENT_PORT: '0' }).catch((error: Error) => error.message);
    expect(words).toContain('LLM_GATEWAY_URL');
    expect(await child?.exited).toMatchObject({ code: 2 });
  });

  it('the voice lets nobody in without the key', async () => {
    const url = await run('voice', { PORT: '0', VOICE_HOST: '127.0.0.1', TTS_BACKEND: 'compat' });
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    expect((await fetch(`${url}/api/whoami`)).status).toBe(401);
    const headers = { 'x-api-key': made.VOICE_KEY ?? '' };
    const answer = await fetch(`${url}/api/whoami`, { headers });
    expect(await answer.json()).toMatchObject({ id: 'owner', role: 'admin' });
  });
});

describe.skipIf(natsMissing)(`NATS as compose.yaml runs it${natsMissing ? `: ${natsMissing}` : ''}`, () => {
  it('lets in only who shows the password', async () => {
    const directory = temporaryDirectory();
    const port = await freePort();
    const password = made.NATS_PASSWORD ?? '';
    const flags = (services.nats?.command ?? []).map((flag) =>
      flag === '/data' ? directory.path : flag.replace(/^\/deploy\//, `${join(root, 'deploy')}/`),
    );
    const child = spawn('nats-server', [...flags, '-a', '127.0.0.1', '-p', `${port}`], {
      env: { PATH: `${process.env.PATH}:/usr/sbin`, ...filledIn('nats', {}) },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    onTestFinished(async () => {
      child.kill();
      if (child.exitCode === null) await once(child, 'exit');
      directory.remove();
    });
    let log = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      log += text;
    });
    await waitFor(() => log.includes('Server is ready'));
    expect(await answerOf(port, { user: 'trunkline', pass: password })).toContain('PONG');
    expect(await answerOf(port, {})).toContain('Authorization Violation');
    expect(await answerOf(port, { user: 'trunkline', pass: 'other' })).toContain('Authorization Violation');
  });
});

/** What the server answers to CONNECT and PING. */
async function answerOf(port: number, credentials: object): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.write(`CONNECT ${JSON.stringify({ verbose: false, ...credentials })}\r\nPING\r\n`);
  let heard = '';
  for await (const text of socket) {
    heard += text;
    if (/PONG|-ERR/.test(heard)) break;
  }
  socket.destroy();
  return heard;
}
