import { createServer } from 'node:net';
import { duplexPair } from 'node:stream';
import { describe, expect, it, onTestFinished } from 'vitest';
import { collectingLogger, eventually, getRequest, rawClient, startApp } from '../fixtures/test-kit.ts';
import { sse } from '../sse/sse.ts';
import { streamText } from '../stream/response-stream.ts';
import { StartError, serve, toStartError } from './serve.ts';

/** A promise and the function that settles it. */
function gate() {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

/** Whether a server can listen there now. */
async function isFree(port: number): Promise<boolean> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}

async function failure(promise: Promise<unknown>): Promise<StartError> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof StartError) return error;
  }
  throw new Error('expected a StartError');
}

describe('serve', () => {
  it('asks a caller that waits with its body for it when a route reads it, and not where it is refused', async () => {
    const server = await startApp((app) => {
      app.use('/closed', async (c) => c.text('no', 401));
      app.post('/:where', async (c) => c.text(`${(await c.req.text()).length} bytes`));
    });
    const ask = async (path: string, length: string) => {
      const client = await rawClient(server.port);
      const headers = ['host: x', 'content-type: application/json', 'expect: 100-continue', length];
      client.write(`POST ${path} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`);
      return client;
    };
    for (const [length, body] of [
      ['content-length: 4', 'abcd'],
      ['transfer-encoding: chunked', '4\r\nabcd\r\n0\r\n\r\n'],
    ] as const) {
      const open = await ask('/open', length);
      await open.until('100 Continue');
      open.write(body);
      await open.until('4 bytes');
      const closed = await ask('/closed', length);
      await closed.closed;
      expect(closed.received).toMatch(/^HTTP\/1\.1 401 /);
      expect(closed.received.toLowerCase()).toContain('connection: close');
    }
  });

  it('stops while a connection within the process waits for its answer', async () => {
    const { open, opened } = gate();
    const asked = gate();
    const server = await startApp((app) =>
      app.get('/', async (c) => {
        asked.open();
        await opened;
        return c.text('late');
      }),
    );
    const [ours, theirs] = duplexPair();
    let received = '';
    ours.setEncoding('utf8').on('data', (text: string) => {
      received += text;
    });
    server.accept(theirs);
    ours.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await asked.opened;
    const stopped = server.stop();
    open();
    await stopped;
    expect(received).toMatch(/late$/);
  });

  it('takes a free port and says where it is', async () => {
    const server = await startApp((app) => app.get('/', (c) => c.text('hello')));
    expect(server.url).toBe(`http://127.0.0.1:${server.port}`);
    expect(await (await fetch(server.url)).text()).toBe('hello');
  });

  it('gives an address that can be opened when it listens on every interface', async () => {
    const server = await startApp((app) => app.get('/', (c) => c.text('hello')), {}, { host: '0.0.0.0' });
    expect(server.url).toBe(`http://127.0.0.1:${server.port}`);
    expect(await (await fetch(server.url)).text()).toBe('hello');
  });

  it('names the port and the variable when the port is taken', async () => {
    const first = await startApp(() => undefined);
    const error = await failure(
      startApp(() => undefined, {}, { port: first.port, portVariable: 'VOICE_PORT' }),
    );
    expect(error.code).toBe('port_taken');
    expect(error.message).toContain(`Port ${first.port}`);
    expect(error.message).toContain('VOICE_PORT');
  });

  it('names the host when it is none of this machine', async () => {
    const error = await failure(startApp(() => undefined, {}, { host: '203.0.113.7' }));
    expect(error).toMatchObject({
      code: 'host_unavailable',
      message: expect.stringContaining('203.0.113.7'),
    });
  });

  it('names the variable when the port is not permitted', () => {
    const refused = Object.assign(new Error('listen EACCES'), { code: 'EACCES' });
    const error = toStartError(refused, { host: '127.0.0.1', port: 80, portVariable: 'PORT' });
    expect(error).toMatchObject({
      code: 'port_forbidden',
      message: expect.stringMatching(/port 80\b.*PORT/),
    });
  });

  it('tells any other failure in its own words', () => {
    const error = toStartError(new Error('odd'), { host: '127.0.0.1', port: 80, portVariable: 'PORT' });
    expect(error).toMatchObject({ code: 'listen_failed', message: expect.stringContaining('odd') });
  });
});

describe('time limits on requests', () => {
  it('drops a client that never finishes its headers', async () => {
    const server = await startApp(() => undefined, {}, { timeouts: { headersMs: 50, requestMs: 200 } });
    const client = await rawClient(server.port);
    client.write('GET / HTTP/1.1\r\nhost: x\r\n');
    await client.closed;
    expect(client.received).toContain('408');
  });

  it('drops a client that never finishes its body', async () => {
    const server = await startApp(
      (app) => app.post('/', async (c) => c.text(await c.req.text())),
      {},
      {
        timeouts: { headersMs: 50, requestMs: 100 },
      },
    );
    const client = await rawClient(server.port);
    client.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nhalf');
    await client.closed;
    expect(client.received).not.toContain('200 OK');
  });

  it('lets a stream outlive them', async () => {
    const { open, opened } = gate();
    const server = await startApp(
      (app) => {
        app.get('/stream', (c) =>
          streamText(c, {
            contentType: 'text/plain',
            async *chunks() {
              yield 'first ';
              await opened;
              yield 'last';
            },
          }),
        );
      },
      {},
      { timeouts: { headersMs: 500, requestMs: 500, keepAliveMs: 500 } },
    );
    const slow = await rawClient(server.port);
    slow.write('GET / HTTP/1.1\r\n');
    const response = await fetch(`${server.url}/stream`);
    // The server has checked its clocks by the time the other client is dropped.
    await slow.closed;
    open();
    expect(await response.text()).toBe('first last');
  });
});

describe('stop', () => {
  it('frees the port, and may be called again', async () => {
    const server = await startApp((app) => app.get('/', (c) => c.text('hello')));
    await fetch(server.url);
    await Promise.all([server.stop(), server.stop()]);
    await server.stop();
    expect(await isFree(server.port)).toBe(true);
    await expect(fetch(server.url)).rejects.toThrow();
  });

  it('lets a request under way finish, and takes no new one', async () => {
    const { open, opened } = gate();
    const started = gate();
    const server = await startApp((app) =>
      app.get('/slow', async (c) => {
        started.open();
        await opened;
        return c.text('finished');
      }),
    );
    const answer = fetch(`${server.url}/slow`);
    await started.opened;
    const stopped = server.stop();
    await expect(rawClient(server.port)).rejects.toThrow('ECONNREFUSED');
    open();
    const response = await answer;
    expect(await response.text()).toBe('finished');
    expect(response.headers.get('connection')).toBe('close');
    await stopped;
    expect(await isFree(server.port)).toBe(true);
  });

  it('cuts off a request that does not finish within the limit', async () => {
    const started = gate();
    const server = await startApp((app) =>
      app.get('/never', () => {
        started.open();
        return new Promise<Response>(() => undefined);
      }),
    );
    const answer = fetch(`${server.url}/never`);
    answer.catch(() => undefined);
    await started.opened;
    await server.stop(20);
    await expect(answer).rejects.toThrow();
  });

  it('closes connections that are idle, half asked or never asked', async () => {
    const server = await startApp((app) => app.get('/', (c) => c.text('hello')));
    const idle = await rawClient(server.port);
    idle.write(getRequest('/'));
    await idle.until('hello');
    const half = await rawClient(server.port);
    half.write('GET / HTTP/1.1\r\nho');
    const silent = await rawClient(server.port);
    await server.stop(10_000);
    await Promise.all([idle.closed, half.closed, silent.closed]);
  });

  it('ends event streams cleanly and stops their sources', async () => {
    const stopped: string[] = [];
    const server = await startApp((app) => {
      app.get('/push', (c) => sse(c, { greeting: 'connected', subscribe: () => () => stopped.push('push') }));
      app.get('/pull', (c) =>
        sse(c, {
          greeting: 'connected',
          async *events({ signal }) {
            await new Promise((_resolve, reject) =>
              signal.addEventListener('abort', () => reject(signal.reason)),
            );
            yield { data: 'never' };
          },
        }),
      );
      app.get('/text', (c) =>
        streamText(c, {
          contentType: 'text/plain',
          async *chunks({ signal }) {
            yield ': connected';
            await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
            stopped.push('text');
          },
        }),
      );
    });
    const clients = await Promise.all(
      ['/push', '/pull', '/text'].map(async (path) => {
        const client = await rawClient(server.port);
        client.write(getRequest(path));
        await client.until(': connected');
        return client;
      }),
    );
    await server.stop(10_000);
    await Promise.all(clients.map(({ closed }) => closed));
    for (const client of clients) expect(client.received.endsWith('0\r\n\r\n')).toBe(true);
    await eventually(() => expect(stopped.sort()).toEqual(['push', 'text']));
    expect(server.lines.filter(({ level }) => level === 'error')).toEqual([]);
  });

  it('ends a stream too that begins meanwhile', async () => {
    const asked = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    const server = await startApp((app) => {
      app.get('/late', async (c) => {
        asked.resolve();
        await answer.promise;
        return sse(c, { greeting: 'connected', subscribe: () => () => undefined });
      });
    });
    const late = fetch(`${server.url}/late`);
    await asked.promise;
    const stopped = server.stop(60_000);
    answer.resolve();
    expect(await (await late).text()).toBe(': connected\n\n');
    await stopped;
  });

  it('does not wait for a stream whose reader has stopped reading', async () => {
    const server = await startApp((app) =>
      app.get('/events', (c) =>
        sse(c, {
          async *events() {
            for (;;) yield { data: 'x'.repeat(10_000) };
          },
        }),
      ),
    );
    const client = await rawClient(server.port);
    client.socket.pause();
    client.write(getRequest('/events'));
    await eventually(() => expect(client.socket.bytesRead).toBeGreaterThan(0));
    await server.stop(50);
    expect(await isFree(server.port)).toBe(true);
  });
});

describe('access to open streams', () => {
  it('stays where it cannot be checked, and the others are looked at all the same', async () => {
    let check: () => void = () => expect.unreachable();
    const server = await startApp((app) =>
      app.get('/:access', (c) => {
        check = () => c.env.streams.endRevoked();
        c.set('stillStands', () => {
          if (c.req.param('access') === 'unknown') throw new Error('database or disk is full');
          return false;
        });
        return sse(c, { greeting: 'connected', subscribe: () => () => undefined });
      }),
    );
    const open = async (path: string) => {
      const client = await rawClient(server.port);
      client.write(getRequest(path));
      await client.until(': connected');
      return client;
    };
    const [unknown, lost] = [await open('/unknown'), await open('/lost')];
    check();
    await lost.until('0\r\n\r\n');
    expect(unknown.received.endsWith('0\r\n\r\n')).toBe(false);
    expect(server.lines.filter(({ level }) => level === 'warn')).toMatchObject([
      { message: 'failed to check access; retrying', fields: { err: expect.any(Error) } },
    ]);
  });
});

describe('two servers in one process', () => {
  it('stop one without the other', async () => {
    const { logger } = collectingLogger();
    const app = { fetch: () => new Response('here') };
    const options = { host: '127.0.0.1', port: 0, portVariable: 'PORT', logger };
    const [first, second] = [await serve(app, options), await serve(app, options)];
    onTestFinished(() => second.stop(0));
    await first.stop();
    expect(await (await fetch(second.url)).text()).toBe('here');
  });

  it('let callers of the first reach the second at the same address at once', async () => {
    const { logger } = collectingLogger();
    const app = { fetch: () => new Response('here') };
    const options = { host: '127.0.0.1', port: 0, portVariable: 'PORT', logger };
    let server = await serve(app, options);
    onTestFinished(() => server.stop(0));
    const { url, port } = server;
    const ask = async () => (await fetch(url)).text();
    for (let round = 0; round < 30; round++) {
      // The one of two connections that was not used last can be used again at once.
      await Promise.all([ask(), ask()]);
      expect(await ask()).toBe('here');
      await server.stop();
      server = await serve(app, { ...options, port });
    }
  });

  it('logs and hides a failure outside the app', async () => {
    const { logger, lines } = collectingLogger();
    const app = {
      fetch: () => {
        throw new Error('secret');
      },
    };
    const server = await serve(app, { host: '127.0.0.1', port: 0, portVariable: 'PORT', logger });
    onTestFinished(() => server.stop(0));
    const response = await fetch(server.url);
    expect([response.status, await response.text()]).toEqual([500, 'Something failed inside the service.\n']);
    expect(lines).toMatchObject([{ level: 'error', message: 'request failed outside the app' }]);
  });
});
