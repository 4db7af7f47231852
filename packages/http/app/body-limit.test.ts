import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { rawClient, startApp } from '../fixtures/test-kit.ts';
import { validate } from '../validation/validate.ts';

async function start(options = {}) {
  let finished = 0;
  const server = await startApp(
    (app) => {
      app.post('/text', async (c) => {
        const text = await c.req.text();
        finished += 1;
        return c.text(`${text.length}`);
      });
      app.post('/large/text', async (c) => c.text(`${(await c.req.text()).length}`));
      app.post('/json', validate('json', z.unknown()), (c) => c.text('json'));
      app.post('/form', validate('form', z.object({ a: z.string() })), (c) => c.text('form'));
    },
    { bodyLimit: 1000, bodyLimits: { '/large': 5000, '/large/text': 3000 }, ...options },
  );
  return { server, finished: () => finished };
}

/** Sent in chunks, with no length declared. */
function chunked(text: string, contentType = 'text/plain'): RequestInit {
  const body = new ReadableStream({
    start(controller) {
      for (let at = 0; at < text.length; at += 100) controller.enqueue(Buffer.from(text.slice(at, at + 100)));
      controller.close();
    },
  });
  return { method: 'POST', body, duplex: 'half', headers: { 'content-type': contentType } } as RequestInit;
}

describe('body limit', () => {
  it('lets a body of exactly the limit through, declared or chunked', async () => {
    const { server } = await start();
    const text = 'x'.repeat(1000);
    expect(await (await fetch(`${server.url}/text`, { method: 'POST', body: text })).text()).toBe('1000');
    expect(await (await fetch(`${server.url}/text`, chunked(text))).text()).toBe('1000');
  });

  it('refuses one byte more with 413 and words', async () => {
    const { server, finished } = await start();
    const response = await fetch(`${server.url}/text`, { method: 'POST', body: 'x'.repeat(1001) });
    expect(response.status).toBe(413);
    expect(await response.json()).toEqual({
      code: 'body_too_large',
      message: 'The body is larger than the 1000 bytes allowed here.',
    });
    expect(finished()).toBe(0);
  });

  it.each(['/text', '/json', '/form'])('refuses a chunked body that grows too large at %s', async (path) => {
    const { server, finished } = await start();
    const type = path === '/form' ? 'application/x-www-form-urlencoded' : 'application/json';
    const response = await fetch(server.url + path, chunked('1'.repeat(1500), type));
    expect(response.status).toBe(413);
    expect(finished()).toBe(0);
  });

  it('refuses a multipart body that grows too large', async () => {
    const { server } = await start();
    const part = `--b\r\ncontent-disposition: form-data; name="a"\r\n\r\n${'x'.repeat(2000)}\r\n--b--\r\n`;
    const response = await fetch(`${server.url}/form`, chunked(part, 'multipart/form-data; boundary=b'));
    expect(response.status).toBe(413);
  });

  it('takes the limit of the longest path that fits', async () => {
    const { server } = await start();
    const send = (path: string, size: number) =>
      fetch(server.url + path, { method: 'POST', body: 'x'.repeat(size) }).then(({ status }) => status);
    expect(await send('/large/text', 3000)).toBe(200);
    expect(await send('/large/text', 3001)).toBe(413);
    expect(await send('/largest', 1001)).toBe(413);
  });

  it('is told to a caller that is still sending, whose connection then ends', async () => {
    const { server } = await start();
    const body = 'x'.repeat(40_000_000);
    const statuses = await Promise.all(
      Array.from(
        { length: 3 },
        async () => (await fetch(`${server.url}/text`, { method: 'POST', body })).status,
      ),
    );
    expect(statuses).toEqual([413, 413, 413]);
    const client = await rawClient(server.port);
    const head = 'POST /text HTTP/1.1\r\nhost: a\r\ncontent-length: 9000000000\r\n\r\n';
    client.write(head);
    await client.closed;
    expect(client.received).toMatch(/^HTTP\/1.1 413 /);
  });

  it('answers before the rest of an endless body comes', async () => {
    const { server } = await start();
    const client = await rawClient(server.port);
    client.write('POST /text HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n');
    client.write(`7d0\r\n${'x'.repeat(2000)}\r\n`);
    await client.until('413');
    await client.closed;
  });
});
