import { inspect } from 'node:util';
import { type SidecarServerOptions, startSidecarServer } from '@trunkline/testing';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { startPeer } from '../../peer.suite.ts';
import { createSidecarClient } from './client.ts';

async function start(options: SidecarServerOptions = {}, timeoutMs = 10_000) {
  const server = await startSidecarServer(options);
  onTestFinished(() => server.stop());
  return { server, sidecar: createSidecarClient({ url: `${server.url}/`, timeoutMs }) };
}

async function gather(chunks: AsyncIterable<Uint8Array>) {
  const found: Uint8Array[] = [];
  for await (const chunk of chunks) found.push(chunk);
  return found;
}

describe('speech', () => {
  it('asks for a stream, and gives whole samples wherever the server cuts [V053][V054]', async () => {
    const bytes = Uint8Array.from({ length: 40 }, (_, index) => index);
    const cuts = [0, 1, 2, 5, 6, 6, 13, 39, 40];
    const speech = cuts.slice(1).map((end, index) => bytes.subarray(cuts[index], end));
    const { server, sidecar } = await start({ speech: speech.filter(({ length }) => length > 0) });
    const chunks = await gather(sidecar.speak({ text: 'Hello', referenceId: 'ada' }));
    expect(chunks.every(({ length }) => length % 2 === 0)).toBe(true);
    expect(Buffer.concat(chunks)).toEqual(Buffer.from(bytes));
    expect(server.requests[0]).toMatchObject({
      method: 'POST',
      path: '/v1/tts',
      body: { text: 'Hello', streaming: true, format: 'wav', reference_id: 'ada' },
    });
  });

  it('drops half a sample at the very end', async () => {
    const { sidecar } = await start({ speech: [new Uint8Array(3)] });
    expect(Buffer.concat(await gather(sidecar.speak({ text: 'x' }))).length).toBe(2);
  });

  it('lets the server go when the listener leaves', async () => {
    const { server, sidecar } = await start({
      speech: Array.from({ length: 2000 }, () => new Uint8Array(65_536)),
    });
    for await (const chunk of sidecar.speak({ text: 'x' })) if (chunk.length > 0) break;
    await vi.waitFor(() => expect(server.requests[0]?.abandoned).toBe(true));
  });
});

describe('saved voices', () => {
  it.each([
    ['JSON, as asked for', {}],
    ['MessagePack', { answers: 'messagepack' as const }],
  ])('are listed, added and deleted, answered in %s [V055]', async (_format, options) => {
    const { server, sidecar } = await start(options);
    await sidecar.addReference({
      id: 'ada',
      audio: Uint8Array.from([1, 2, 3]),
      text: 'What is said — here.',
    });
    expect(server.references.get('ada')).toEqual({
      audio: Uint8Array.from([1, 2, 3]),
      text: 'What is said — here.',
    });
    expect(await sidecar.listReferences()).toEqual(['ada']);
    await sidecar.deleteReference('ada');
    expect(await sidecar.listReferences()).toEqual([]);
    expect(server.requests.every(({ accept }) => accept === 'application/json')).toBe(true);
  });

  it('are listed by POST where GET is not known', async () => {
    const { sidecar, server } = await start({ listMethod: 'POST' });
    expect(await sidecar.listReferences()).toEqual([]);
    expect(server.requests.map(({ method }) => method)).toEqual(['GET', 'POST']);
  });
});

describe('failures', () => {
  it('say that a call took too long, and name the variable [V045][V121]', async () => {
    const { server, sidecar } = await start({}, 50);
    server.faults.set('/v1/references/list', 'stall');
    server.faults.set('/v1/tts', 'stall');
    const words = { code: 'timeout', message: 'The sidecar took longer than 0.05 s; raise SIDECAR_TIMEOUT.' };
    await expect(sidecar.listReferences()).rejects.toMatchObject(words);
    await expect(gather(sidecar.speak({ text: 'x' }))).rejects.toMatchObject(words);
  });

  it('say that nobody answers', async () => {
    const { server, sidecar } = await start();
    await server.stop();
    await expect(sidecar.listReferences()).rejects.toMatchObject({ code: 'unreachable' });
  });

  it('and calls never show the password of the address', async () => {
    const peer = await startPeer(() => ({ reference_ids: ['ada'] }));
    const address = (url: string) => url.replace('http://', 'http://ada:hush%40hush@');
    const sidecar = createSidecarClient({ url: address(peer.url), timeoutMs: 60_000 });
    expect(await sidecar.listReferences()).toEqual(['ada']);
    const authorization = `Basic ${Buffer.from('ada:hush@hush').toString('base64')}`;
    expect(peer.requests[0]?.headers.authorization).toBe(authorization);
    const { server } = await start();
    await server.stop();
    const gone = createSidecarClient({ url: address(server.url), timeoutMs: 60_000 });
    const failure: unknown = await gone.listReferences().catch((error: unknown) => error);
    expect(failure).toMatchObject({ message: `No sidecar answers at ${server.url}; check SIDECAR_URL.` });
    expect(inspect(failure, { depth: 9 })).not.toContain('hush');
  });

  it.each([
    ['ada:50%@', 'ada:50%'],
    [':hush@', ':hush'],
  ])('do not come from a name or password like %s', async (given, sent) => {
    const peer = await startPeer(() => ({ reference_ids: [] }));
    const url = peer.url.replace('http://', `http://${given}`);
    await createSidecarClient({ url, timeoutMs: 60_000 }).listReferences();
    const [, pair = ''] = peer.requests[0]?.headers.authorization?.split(' ') ?? [];
    expect(Buffer.from(pair, 'base64').toString()).toBe(sent);
  });

  it('tell a refusal by its status or its words', async () => {
    const { server, sidecar } = await start();
    server.faults.set('/v1/references/delete', { refuse: 'in use' });
    server.faults.set('/v1/tts', 500);
    await expect(sidecar.deleteReference('a')).rejects.toThrow('The sidecar refused: in use.');
    await expect(gather(sidecar.speak({ text: 'x' }))).rejects.toThrow(
      'The sidecar answered 500 to /v1/tts.',
    );
  });

  it("leave a caller's own abort as it is", async () => {
    const { server, sidecar } = await start();
    server.faults.set('/v1/references/list', 'stall');
    const controller = new AbortController();
    const listing = sidecar.listReferences(controller.signal);
    controller.abort(new Error('changed my mind'));
    await expect(listing).rejects.toThrow('changed my mind');
  });
});
