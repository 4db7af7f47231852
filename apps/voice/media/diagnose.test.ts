import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { diagnoseCalls } from './diagnose.ts';
import { diagnoseIceServers } from './ice-servers.ts';

/** A directory in which the library is this script. */
function directoryWith(script?: string): string {
  const { path, remove } = temporaryDirectory();
  onTestFinished(remove);
  if (script === undefined) return path;
  const library = join(path, 'node_modules/@roamhq/wrtc');
  mkdirSync(library, { recursive: true });
  writeFileSync(join(library, 'index.js'), script);
  return path;
}

describe('the library that carries calls', () => {
  it('loads on this machine', async () => {
    expect(await diagnoseCalls()).toEqual([
      { subject: 'calls', state: 'ok', words: '@roamhq/wrtc loads, calls can come in.' },
    ]);
  });

  it('is told to be absent where it is not installed', async () => {
    const [found] = await diagnoseCalls(directoryWith());
    expect(found).toMatchObject({ state: 'warning', words: expect.stringContaining('not installed') });
    expect(found?.advice).toContain('npm ci');
  });

  it('is told to be broken with what it says itself', async () => {
    const [found] = await diagnoseCalls(directoryWith("throw new Error('libstdc++.so.6: too old')"));
    expect(found).toMatchObject({
      state: 'failed',
      words: '@roamhq/wrtc does not load: libstdc++.so.6: too old.',
    });
  });

  it('may crash without harm to whoever asks', async () => {
    const [found] = await diagnoseCalls(directoryWith("process.kill(process.pid, 'SIGSEGV')"));
    expect(found).toMatchObject({
      state: 'failed',
      words: '@roamhq/wrtc does not load: it crashed with SIGSEGV.',
    });
  });
});

describe('a server of ICE_SERVERS', () => {
  /** A binding response of RFC 8489 to the request: XOR-MAPPED-ADDRESS 192.0.2.1 port 32853, as in RFC 5769. */
  const respond = (request: Buffer) =>
    Buffer.concat([
      Buffer.from('0101000c2112a442', 'hex'),
      request.subarray(8, 20),
      Buffer.from('002000080001a147e112a643', 'hex'),
    ]);
  const isBindingRequest = (request: Buffer) =>
    request.length === 20 && request.readUInt32BE(0) === 0x00010000 && request.readUInt32BE(4) === 0x2112a442;

  async function udpServer(answer: (request: Buffer) => Buffer | undefined): Promise<number> {
    const socket = createSocket('udp4').bind(0, '127.0.0.1');
    onTestFinished(() => void socket.close());
    socket.on('message', (request, { port, address }) => {
      const bytes = answer(request);
      if (bytes) socket.send(bytes, port, address);
    });
    await once(socket, 'listening');
    return socket.address().port;
  }

  it.each([
    ['stun', '', /^stun:127\.0\.0\.1:\d+ answers\.$/],
    ['turn', '?transport=udp', /^turn:127\.0\.0\.1:\d+ answers\. .*password were not tried/],
  ])('that answers a binding request is told to (%s)', async (scheme, query, words) => {
    let requests = 0;
    // The first is lost, as UDP may lose it.
    const port = await udpServer((request) =>
      isBindingRequest(request) && ++requests > 1 ? respond(request) : undefined,
    );
    const server = { urls: `${scheme}:127.0.0.1:${port}${query}`, username: 'u', credential: 'hush' };
    expect(await diagnoseIceServers([server], 60_000)).toEqual([
      { subject: 'ICE_SERVERS', state: 'ok', words: expect.stringMatching(words) },
    ]);
  });

  it('is asked over TCP, also where the answer comes in pieces', async () => {
    const relay = createServer((socket) =>
      socket.once('data', (request) => {
        const answer = respond(request);
        socket.write(answer.subarray(0, 7), () => socket.write(answer.subarray(7)));
      }),
    ).listen(0, '127.0.0.1');
    onTestFinished(() => void relay.close());
    await once(relay, 'listening');
    const { port } = relay.address() as { port: number };
    const urls = [`turn:127.0.0.1:${port}?transport=tcp`];
    expect(await diagnoseIceServers([{ urls }], 60_000)).toMatchObject([{ state: 'ok' }]);
  });

  it('that is silent, closed or something else is told to be so, with what to do', async () => {
    const silent = await udpServer(() => undefined);
    const other = await udpServer((request) => Buffer.concat([Buffer.from('0101000c', 'hex'), request]));
    const at = (port: number) => ({ urls: `stun:127.0.0.1:${port}` });
    expect(await diagnoseIceServers([at(silent)], 100)).toMatchObject([
      {
        state: 'failed',
        words: expect.stringContaining('no answer within'),
        advice: expect.stringContaining('ICE_SERVERS'),
      },
    ]);
    const closed = { urls: 'turn:user@127.0.0.1:1?transport=tcp' };
    const found = await diagnoseIceServers([at(other), closed], 60_000);
    expect(found.map(({ words }) => words)).toEqual([
      expect.stringMatching(/is no STUN or TURN server/),
      'Cannot use turn:127.0.0.1:1: connection refused.',
    ]);
  });
});
