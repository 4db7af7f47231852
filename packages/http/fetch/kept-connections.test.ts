import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { code, lookupOf, open, startWeb, text } from './fixtures/test-web.ts';

describe('a connection that is kept open', () => {
  it('serves the next page of the same host', async () => {
    const web = await startWeb(text('page'));
    for (const path of ['/one', '/two', '/three'])
      expect((await open()(`${web.url}${path}`)).status).toBe(200);
    expect(new Set(web.requests.map(({ socket }) => socket)).size).toBe(1);
  });

  it('carries nothing that must not be sent twice', async () => {
    const web = await startWeb(text('done'));
    await open()(web.url);
    await open()(web.url, { method: 'POST', body: 'order' });
    await open()(web.url, { method: 'DELETE' });
    expect(new Set(web.requests.map(({ socket }) => socket)).size).toBe(3);
  });

  it('gives no page what a server sent ahead after the page before', async () => {
    const web = await startWeb((request, response) => void response.end(request.url));
    for (const path of ['/one', '/two', '/three']) {
      const page = await open()(`${web.url}${path}`);
      expect(page.text()).toBe(path);
      // On its way when the next page is asked for.
      web.requests.at(-1)?.socket.write('HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged');
    }
    expect((await open()(`${web.url}/four`)).text()).toBe('/four');
  });

  it('gives no page the body with which a server answered HEAD', async () => {
    const web = await startWeb((request, response) => {
      if (request.method !== 'HEAD') return void response.end(request.url);
      request.socket.write('HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n');
    });
    await open()(web.url, { method: 'HEAD' });
    const page = open()(`${web.url}/page`);
    web.requests[0]?.socket.write('HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged');
    expect((await page).text()).toBe('/page');
    expect(new Set(web.requests.map(({ socket }) => socket)).size).toBe(2);
  });

  it('serves requests with credentials apart from those that anybody can ask for', async () => {
    const web = await startWeb(text('page'));
    const headers = { 'x-api-key': 'secret' };
    await open()(web.url);
    await open()(web.url, { headers });
    await open()(web.url, { headers });
    const [first, second, third] = web.requests.map(({ socket }) => socket);
    expect(second).not.toBe(first);
    expect(third).toBe(second);
  });

  it('is made anew where the server closed it meanwhile', async () => {
    const used = new Set<Socket>();
    const web = await startWeb((request, response) => {
      if (used.has(request.socket)) return void request.socket.destroy();
      used.add(request.socket);
      response.end(request.url);
    });
    expect((await open()(`${web.url}/one`)).text()).toBe('/one');
    expect((await open()(`${web.url}/two`)).text()).toBe('/two');
    expect(web.requests.map(({ url }) => url)).toEqual(['/one', '/two', '/two']);
  });

  it('breaks off for good when a new one breaks off too', async () => {
    const web = await startWeb((request, response) => {
      if (request.url === '/one') response.end('one');
      else request.socket.destroy();
    });
    await open()(`${web.url}/one`);
    expect(await code(open()(`${web.url}/two`))).toBe('fetch_failed');
    expect(web.requests).toHaveLength(3);
  });

  it('is not used for a host that has moved to another address, open or refused', async () => {
    const port = await listen('127.0.0.1', 0, text('first'));
    await listen('127.0.0.2', port, text('second'));
    const { lookup } = lookupOf(['127.0.0.1'], ['127.0.0.2'], ['10.0.0.1']);
    const fetchMoving = open({ allowedHosts: [], allowedCidrs: ['127.0.0.0/8'], lookup });
    const url = `http://moving.example:${port}/`;
    expect((await fetchMoving(url)).text()).toBe('first');
    expect((await fetchMoving(url)).text()).toBe('second');
    expect(await code(fetchMoving(url))).toBe('address_refused');
  });

  it('is closed when a page was cut or given up', async () => {
    const web = await startWeb((_request, response) => {
      response.write('x'.repeat(1000));
      response.write('x'.repeat(1000));
    });
    const cut = open({ maxBytes: 10, overflow: 'cut' });
    await cut(web.url);
    await cut(web.url);
    const [first, second] = web.requests.map(({ socket }) => socket);
    expect(first).not.toBe(second);
    if (!first?.destroyed) await once(first as Socket, 'close');
  });
});

async function listen(host: string, port: number, listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  server.listen(port, host);
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
