import { readdirSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import type { NetworkInterfaceInfo } from 'node:os';
import { temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
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

describe(`a sandbox with a list of hosts${missing && ` (skipped: ${missing})`}`, () => {
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

  it('reaches with "public" every port of the internet, and nothing that lies here', async () => {
    const lookup = async (host: string) => [
      {
        address: { 'public.test': '93.184.215.14', 'own.test': '93.184.215.15' }[host] ?? '10.0.0.1',
        family: 4,
      },
    ];
    // As of a rented server: its firewall keeps strangers from its ports, and a program here is no stranger.
    const own = { address: '93.184.215.15', family: 'IPv4', internal: false } as NetworkInterfaceInfo;
    const sandbox = createSandbox({
      mode: 'require',
      addresses: {
        lookup,
        dial: () => '127.0.0.1',
        interfaces: () => ({ eth0: [own] }),
        allowedHosts: ['inner.test'],
        allowedCidrs: ['10.0.0.0/8'],
      },
    });
    const script = `curl -sS http://public.test:${port}/a; echo; curl -sS -p http://public.test:${port}/b; echo
      curl -sS http://inner.test:${port}/; curl -sS http://127.0.0.1:${port}/ --noproxy ''
      curl -sS http://own.test:${port}/; curl -sS http://93.184.215.15:${port}/`;
    const running = await sandbox.start(shellScript(script, home.path, { network: 'public' }));
    const { output, refusedHosts } = await outcomeOf(running);
    expect(output.split('\n').slice(0, 2)).toEqual([
      `GET /a of public.test:${port}`,
      `GET /b of public.test:${port}`,
    ]);
    expect(output).toContain('inner.test leads to a private address. A program whose network is "public"');
    expect(output).toContain('own.test leads to this machine');
    expect(output.match(/GET/g)).toHaveLength(2);
    expect(refusedHosts).toEqual(['inner.test', '127.0.0.1', 'own.test', '93.184.215.15']);
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

  it('hands on what belongs to the message, and no header of one connection', async () => {
    const seen: IncomingHttpHeaders[] = [];
    const listener = createServer((request, response) => {
      seen.push(request.headers);
      response.writeHead(200, {
        connection: 'x-hop',
        'x-hop': '1',
        'proxy-authenticate': 'x',
        'x-kept': '1',
      });
      response.end('done');
    });
    await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
    const address = `good.test:${(listener.address() as AddressInfo).port}`;
    const { output } = await run(
      `curl -sSi http://${address}/ -H 'Trailer: x' -H 'TE: trailers' -H 'Proxy-Authorization: x' -H 'Kept: 1' \
         -H 'Connection: listed, content-length' -H 'Listed: 1' -d body; curl -sS http://${address}/ -H 'Trailer: x'`,
      [address],
    );
    await new Promise((resolve) => listener.close(resolve));
    expect(output).toMatch(/^HTTP\/1.1 200 [\s\S]*x-kept: 1[\s\S]*donedone$/);
    expect(output).not.toMatch(/x-hop|proxy-authenticate/);
    expect(seen[0]).toMatchObject({ kept: '1', 'content-length': '4' });
    expect(Object.keys(seen[0] ?? {})).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^(trailer|te|proxy-.*|listed)$/)]),
    );
  });

  it.each([
    ['HTTP/1.1 099 Odd\r\ncontent-length: 2\r\n\r\nxx', /status 99/],
    ['HTTP/1.1 101 Other\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n', /502/],
    ['HTTP/1.1 200 Fine\r\ntrailer: x\r\ncontent-length: 2\r\n\r\nok', /ok/],
    ['HTTP/1.1 200 Fine\r\ncontent-length: 20\r\n\r\nshort', /curl: \(18\)/],
    ['no HTTP at all', /502/],
  ])('survives a listed host that answers %j', async (answer, expected) => {
    const odd = createTcpServer((socket) =>
      socket.on('error', () => undefined).once('data', () => socket.end(answer)),
    );
    await new Promise<void>((resolve) => odd.listen(0, '127.0.0.1', resolve));
    const address = `good.test:${(odd.address() as AddressInfo).port}`;
    const ask = `curl -sSi -m 20 http://${address}/ 2>&1`;
    expect((await run(ask, [address])).output).toMatch(expected);
    await new Promise((resolve) => odd.close(resolve));
  });

  it('leaves no proxy behind when the program cannot be started', async () => {
    vi.stubEnv('TMPDIR', home.path);
    onTestFinished(() => void vi.unstubAllEnvs());
    const request = shellScript('\0', home.path, { network: { hosts: ['good.test'] } });
    await expect(createSandbox({ mode: 'require' }).start(request)).rejects.toThrow(/null bytes/);
    await waitFor(() => !readdirSync(home.path).some((name) => name.startsWith('trunkline-proxy-')));
  });

  it('ends the tunnels with the program', async () => {
    let closed: () => void = () => undefined;
    const isClosed = new Promise<void>((resolve) => {
      closed = resolve;
    });
    const silent = createTcpServer((socket) =>
      socket
        .on('error', () => undefined)
        .resume()
        .once('close', closed),
    );
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
