import { existsSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import {
  describeWithBrowser,
  launchBrowser,
  type TestBrowser,
  type TestPage,
  waitFor,
} from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Attack, json, openMode, order, startAttack } from './attack.suite.ts';
import { type Name, names } from './security.suite.ts';

/** Hostile pages in the browser in which the operator is signed in to all four services. */
describeWithBrowser('a hostile page', () => {
  let attack: Attack;
  let browser: TestBrowser;
  let evil: Server;
  let marker: string;

  beforeAll(async () => {
    attack = await startAttack({ env: openMode, files: { 'voice/config/users.yaml': 'users: []' } });
    marker = join(attack.outside, 'started');
    // Names that were made to point here, as a rebinding server does.
    browser = await launchBrowser({ args: ['--host-resolver-rules=MAP *.evil.example 127.0.0.1'] });
    evil = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Kittens</title>');
    }).listen(0, '127.0.0.1');
  });
  afterAll(async () => {
    evil?.close();
    await browser?.close();
    await attack?.stop();
  });

  const evilPort = () => (evil.address() as AddressInfo).port;
  const portOf = (name: Name) => new URL(attack.url(name)).port;
  const word = () => `word-${crypto.randomUUID()}`;

  /** A window in which the operator has signed in, by a host name: the cookie serves all four ports. */
  async function signedIn(host: string): Promise<TestPage> {
    const window = await browser.open('about:blank');
    const response = await window.page.context().request.post(`http://${host}:${portOf('agent')}/operator`, {
      data: { key: attack.operatorKey() },
    });
    expect(response.ok()).toBe(true);
    for (const name of names) {
      const state = await window.page.context().request.get(`http://${host}:${portOf(name)}/operator`);
      expect(await state.json()).toMatchObject({ operator: true });
    }
    return window;
  }

  /** The requests that would do harm, each with a word that shows whether it was heard. */
  function targets(host: string, sign: string) {
    const at = (name: Name, path: string) => `http://${host}:${portOf(name)}${path}`;
    const text = `${sign} ${order('run_command', { command: `touch ${marker}` })}`;
    const message = { role: 'user', messageId: sign, parts: [{ kind: 'text', text }] };
    const program = { name: 'evil', transport: 'stdio', trust: 'trusted', command: 'touch', args: [marker] };
    const stream = { jsonrpc: '2.0', id: 1, method: 'message/stream', params: { message } };
    return [
      { url: at('agent', '/api/mcp/servers/test'), body: program },
      { url: at('switchboard', '/api/mcp-servers/test'), body: program },
      { url: at('switchboard', '/api/mcp-servers'), body: program },
      {
        url: at('switchboard', '/publish'),
        body: { topic: 'message.inbound.cli', payload: { content: text } },
      },
      ...names.map((name) => ({ url: at(name, '/a2a'), body: stream })),
      {
        url: at('agent', '/message:send'),
        body: { message: { ...message, role: 'ROLE_USER', parts: [{ text }] } },
      },
      { url: at('agent', '/api/chat'), body: { message: text } },
      { url: at('agent', '/api/inbox'), body: { text, priority: 'now' } },
      {
        url: at('agent', '/v1/chat/completions'),
        body: { model: 'x', messages: [{ role: 'user', content: text }] },
      },
      { url: at('research', '/api/chat'), body: { messages: [{ role: 'user', content: text }] } },
      { url: at('voice', '/a2a/callback'), body: { text } },
    ];
  }

  /** Sends every request in every way that a page has, waits for all of them, and gives those that it could read. */
  async function fire({ page }: TestPage, list: { url: string; body: object }[]): Promise<string[]> {
    const ended: string[] = [];
    const note = (request: { method(): string; url(): string }) =>
      void (request.method() === 'POST' && ended.push(request.url()));
    page.on('requestfinished', note);
    page.on('requestfailed', note);
    const read = await page.evaluate(fireInPage, list);
    // Of a form and two beacons for each the page sees no answer.
    await waitFor(() => ended.length >= list.length * 8);
    return read;
  }

  /** What came of it. */
  async function harm(sign: string): Promise<string[]> {
    const heard = attack.model.chats().filter(({ messages }) => JSON.stringify(messages).includes(sign));
    const headers = await attack.operator('switchboard');
    const { text } = await json(
      `${attack.url('switchboard')}/api/bus/history?limit=1000`,
      undefined,
      headers,
    );
    const servers = await json(`${attack.url('switchboard')}/api/mcp-servers`, undefined, headers);
    return [
      ...(existsSync(marker) ? ['a program was started'] : []),
      ...heard.map(({ model }) => `the model ${model} was asked`),
      ...(text.includes(sign) ? ['the bus took the message'] : []),
      ...(servers.text.includes('evil') ? ['a server was configured'] : []),
    ];
  }

  describe.each([
    ['on another port of the same address', '127.0.0.1', '127.0.0.1'],
    ['on another port of localhost', 'localhost', 'localhost'],
    ['at another name of this machine', 'localhost', '127.0.0.1'],
    ['of another site', 'www.evil.example', '127.0.0.1'],
  ])('%s', (_, pageHost, serviceHost) => {
    it('changes nothing and reads nothing, though the operator is signed in', async () => {
      const window = await signedIn(serviceHost);
      await window.page.goto(`http://${pageHost}:${evilPort()}/`);
      const sign = word();
      expect(await fire(window, targets(serviceHost, sign))).toEqual([]);
      expect(await harm(sign)).toEqual([]);
      const at = (name: Name, path: string) => `http://${serviceHost}:${portOf(name)}${path}`;
      const urls = [
        at('agent', '/api/config'),
        at('agent', '/api/tasks'),
        at('agent', '/api/events'),
        at('switchboard', '/api/bus/history'),
        at('switchboard', '/api/bus/stream'),
        at('voice', '/api/whoami'),
        at('research', '/api/files'),
        ...names.map((name) => at(name, '/operator')),
      ];
      expect(await window.page.evaluate(readInPage, urls)).toEqual([]);
      expect(await window.page.evaluate(() => document.cookie)).not.toContain('trunkline_operator');
      await window.close();
    });
  });

  it.each(names)('shows no page of %s in a frame', async (name) => {
    const { headers } = await fetch(`${attack.url(name)}/`);
    const policy = `${headers.get('content-security-policy')} ${headers.get('x-frame-options')}`;
    expect(policy).toMatch(/frame-ancestors '(none|self)'|DENY|SAMEORIGIN/i);
  });

  it.each(names)('whose name was made to point at %s is told nothing and changes nothing', async (name) => {
    const host = `rebound-${name}.evil.example`;
    const window = await browser.open(`http://${host}:${portOf(name)}/healthz`, { bypassCSP: true });
    const sign = word();
    const own = targets(host, sign).filter(({ url }) => url.includes(`:${portOf(name)}/`));
    const paths = ['/api/config', '/api/whoami', '/api/files', '/api/bus/history', '/tasks'];
    expect(await window.page.evaluate(readInPage, paths)).toEqual([]);
    expect(await fire(window, own)).toEqual([]);
    expect(await harm(sign)).toEqual([]);
    await window.close();
  });

  it('cannot sign a browser in or out behind its back', async () => {
    const window = await signedIn('127.0.0.1');
    await window.page.goto(`http://127.0.0.1:${evilPort()}/`);
    const url = `http://127.0.0.1:${portOf('agent')}`;
    await window.page.evaluate(async (address) => {
      await fetch(`${address}/operator`, { method: 'DELETE', credentials: 'include' }).catch(() => undefined);
      await fetch(`${address}/operator`, {
        method: 'POST',
        mode: 'no-cors',
        credentials: 'include',
        body: '{"key":"x"}',
      }).catch(() => undefined);
    }, url);
    const state = await window.page.context().request.get(`${url}/operator`);
    expect(await state.json()).toMatchObject({ operator: true });
    await window.close();
  });
});

/** Runs in the page. */
async function fireInPage(requests: { url: string; body: object }[]): Promise<string[]> {
  const readable: string[] = [];
  const attempt = async (way: string, url: string, init: RequestInit) => {
    const response = await fetch(url, { method: 'POST', credentials: 'include', ...init }).catch(
      () => undefined,
    );
    if (response?.ok) readable.push(`${way} ${url} ${response.status}`);
    await response?.body?.cancel();
  };
  const form = (url: string, enctype: string, fields: Record<string, string>) => {
    const frame = document.body.appendChild(document.createElement('iframe'));
    frame.name = `frame${document.querySelectorAll('iframe').length}`;
    const element = document.body.appendChild(document.createElement('form'));
    Object.assign(element, { method: 'POST', action: url, enctype, target: frame.name });
    for (const [name, value] of Object.entries(fields))
      Object.assign(element.appendChild(document.createElement('input')), { name, value });
    element.submit();
  };
  const ways = requests.flatMap(({ url, body }) => {
    const text = JSON.stringify(body);
    form(url, 'text/plain', { [`${text.slice(0, -1)},"x":"`]: '"}' });
    navigator.sendBeacon(url, text);
    navigator.sendBeacon(url, new Blob([text]));
    return [
      attempt('text/plain', url, { body: text, headers: { 'content-type': 'text/plain' } }),
      attempt('no-cors', url, { body: text, mode: 'no-cors' }),
      attempt('blob', url, { body: new Blob([text]), mode: 'no-cors' }),
      attempt('typed blob', url, {
        body: new Blob([text], { type: 'text/plain;application/json' }),
        mode: 'no-cors',
      }),
      attempt('json', url, { body: text, headers: { 'content-type': 'application/json' } }),
      attempt('keepalive', url, { body: text, mode: 'no-cors', keepalive: true }),
    ];
  });
  await Promise.all(ways);
  return readable;
}

/** Runs in the page: the addresses whose answer it can read. */
async function readInPage(urls: string[]): Promise<string[]> {
  const answers = urls.flatMap((url) =>
    (['include', 'omit'] as const).map(async (credentials) => {
      const response = await fetch(url, { credentials }).catch(() => undefined);
      await response?.body?.cancel();
      return response?.ok ? [`${url} ${credentials}`] : [];
    }),
  );
  return (await Promise.all(answers)).flat();
}
