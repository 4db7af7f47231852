import { describe, expect, it, vi } from 'vitest';
import { eventually, getRequest, rawClient, startApp } from '../fixtures/test-kit.ts';
import { streamText } from './response-stream.ts';

describe('streamText', () => {
  it('sends text as it comes, with the content type and headers asked for', async () => {
    let go: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const server = await startApp((app) =>
      app.post('/chat', (c) =>
        streamText(c, {
          contentType: 'text/plain; charset=utf-8',
          headers: { 'x-vercel-ai-data-stream': 'v1' },
          async *chunks() {
            yield '0:"Hel"\n';
            await gate;
            yield '0:"lo"\n';
          },
        }),
      ),
    );
    const response = await fetch(`${server.url}/chat`, { method: 'POST', body: '{}' });
    expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(response.headers.get('x-vercel-ai-data-stream')).toBe('v1');
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
    expect((await reader.read()).value).toBe('0:"Hel"\n');
    go();
    expect((await reader.read()).value).toBe('0:"lo"\n');
    expect((await reader.read()).done).toBe(true);
  });

  it('tells the source when the client leaves', async () => {
    let signalled = false;
    const server = await startApp((app) =>
      app.get('/chat', (c) =>
        streamText(c, {
          contentType: 'text/plain',
          async *chunks({ signal }) {
            yield 'begun';
            await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
            signalled = true;
          },
        }),
      ),
    );
    const client = await rawClient(server.port);
    client.write(getRequest('/chat'));
    await client.until('begun');
    client.socket.destroy();
    await eventually(() => expect(signalled).toBe(true));
  });

  it('answers HEAD without asking the source', async () => {
    const chunks = vi.fn(async function* (): AsyncGenerator<string> {
      yield* [];
    });
    const server = await startApp((app) =>
      app.get('/chat', (c) => streamText(c, { contentType: 'text/plain', chunks })),
    );
    expect((await fetch(`${server.url}/chat`, { method: 'HEAD' })).status).toBe(200);
    expect(chunks).not.toHaveBeenCalled();
  });
});
