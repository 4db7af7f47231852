import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { temporaryDirectory } from '@trunkline/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { findIsolation } from './availability.ts';
import { matches } from './network-proxy.ts';
import { outcomeOf, shellScript } from './sandbox.suite.ts';
import { createSandbox } from './sandbox.ts';

const isolation = await findIsolation();
const missing = isolation.kind === 'none' ? isolation.reason : '';
const home = temporaryDirectory();
let server: Server;
let port: number;

beforeAll(async () => {
  server = createServer((request, response) => {
    request
      .resume()
      .once('end', () => response.end(`${request.method} ${request.url} of ${request.headers.host}`));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  port = (server.address() as AddressInfo).port;
});
afterAll(async () => {
  await new Promise((resolve) => server.close(resolve));
  home.remove();
});

/** Every name leads to this machine, which the operator has opened. */
const lookup = async () => [{ address: '127.0.0.1', family: 4 }];

async function run(script: string, hosts: string[], allowedHosts = ['good.test']) {
  const sandbox = createSandbox({ mode: 'require', addresses: { lookup, allowedHosts } });
  return await outcomeOf(await sandbox.start(shellScript(script, home.path, { network: { hosts } })));
}

describe(`a sandbox with a list of hosts${missing && ` (skipped: ${missing})`}`, { timeout: 60_000 }, () => {
  beforeEach(({ skip }) => skip(missing !== '', missing));

  it('reaches a listed host, by plain HTTP and through a tunnel, with its body and exit code', async () => {
    const { output, code, refusedHosts } = await run(
      `curl -sS -d hello http://good.test:${port}/plain; echo; curl -sS -p http://good.test:${port}/tunnel; exit 5`,
      [`good.test:${port}`],
    );
    expect(output).toBe(`POST /plain of good.test:${port}\nGET /tunnel of good.test:${port}`);
    expect(code).toBe(5);
    expect(refusedHosts).toEqual([]);
  });

  it('names the hosts that it refuses, also a listed one on another port or with a private address', async () => {
    const { output, refusedHosts } = await run(
      `curl -sS http://evil.test:${port}/; curl -sS -p https://worse.test/ ; curl -sS http://good.test:81/
       curl -sS http://inner.test:${port}/; curl -sS http://127.0.0.1:${port}/ --noproxy ''`,
      [`good.test:${port}`, `inner.test:${port}`],
    );
    expect(output).toContain(
      `The sandbox refuses evil.test:${port}. It lets through only: good.test:${port}`,
    );
    expect(output).toContain('The sandbox refuses good.test:81');
    expect(output).toContain('inner.test leads to a loopback address');
    expect(output).toContain(`The sandbox refuses 127.0.0.1:${port}`);
    expect(output).not.toContain('GET /');
    expect(refusedHosts).toEqual(['evil.test', 'worse.test', 'good.test', 'inner.test', '127.0.0.1']);
  });

  it('has no way past the proxy, and Node uses it by itself', async () => {
    const direct = await run(`curl -sS --noproxy '*' -m 5 http://127.0.0.1:${port}/`, [`good.test:${port}`]);
    expect(direct.output).toContain('curl: (7)');
    const sandbox = createSandbox({ mode: 'require', addresses: { lookup, allowedHosts: ['good.test'] } });
    const program = `fetch('http://good.test:${port}/node').then((answer) => answer.text()).then(console.log)`;
    const running = await sandbox.start({
      ...shellScript('', home.path, { network: { hosts: [`good.test:${port}`] } }),
      command: process.execPath,
      args: ['-e', program],
    });
    expect((await outcomeOf(running)).output).toContain(`GET /node of good.test:${port}`);
  });

  it('ends the tunnels with the program', async () => {
    let closed: () => void = () => undefined;
    const isClosed = new Promise<void>((resolve) => {
      closed = resolve;
    });
    const silent = createTcpServer((socket) => socket.on('error', () => undefined).once('close', closed));
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    const { port: silentPort } = silent.address() as AddressInfo;
    const connected = new Promise((resolve) => silent.once('connection', resolve));
    const sandbox = createSandbox({ mode: 'require', addresses: { lookup, allowedHosts: ['good.test'] } });
    const running = await sandbox.start(
      shellScript(`curl -sS -p http://good.test:${silentPort}/`, home.path, {
        network: { hosts: [`good.test:${silentPort}`] },
      }),
    );
    await connected;
    await running.end();
    await isClosed;
    await new Promise((resolve) => silent.close(resolve));
  });
});

it.each([
  ['api.example.com', 'api.example.com', 443, true],
  ['api.example.com', 'API.Example.com.', 80, true],
  ['api.example.com', 'api.example.com', 22, false],
  ['api.example.com:22', 'api.example.com', 22, true],
  ['api.example.com:22', 'api.example.com', 443, false],
  ['*.example.com', 'a.b.example.com', 443, true],
  ['*.example.com', 'example.com', 443, false],
  ['*.example.com', 'evilexample.com', 443, false],
  ['example.com', 'example.com.evil.test', 443, false],
])('the rule %s opens %s:%i: %s', (rule, host, port, expected) => {
  expect(matches(rule, host, port)).toBe(expected);
});
