import type { RequestListener } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { Lookup } from './address-policy.ts';
import { code, open, startWeb } from './fixtures/test-web.ts';
import { createGuardedFetch } from './guarded-fetch.ts';

describe('redirects', () => {
  const redirect =
    (location: string, status = 302): RequestListener =>
    (_request, response) =>
      void response.writeHead(status, { location }).end('moved');

  it('are followed, and the last address is told', async () => {
    const web = await startWeb((request, response) =>
      request.url === '/end' ? response.end('end') : response.writeHead(302, { location: '/end' }).end(),
    );
    const answer = await open()(`${web.url}/start`);
    expect([answer.text(), answer.url]).toEqual(['end', `${web.url}/end`]);
  });

  it.each(['http://10.0.0.1/', 'http://[::1]/', 'http://169.254.169.254/latest/'])(
    'to %s are refused',
    async (location) => {
      const web = await startWeb(redirect(location));
      expect(await code(open()(web.url))).toBe('address_refused');
    },
  );

  it.each([
    ['file:///etc/passwd', 'url_scheme_refused'],
    ['http://user:pass@127.0.0.1/', 'url_credentials_refused'],
    ['http://[bad', 'redirect_invalid'],
  ])('to %s are refused', async (location, expected) => {
    const web = await startWeb(redirect(location));
    expect(await code(open()(web.url))).toBe(expected);
  });

  it('from a name that is public by then private are refused', async () => {
    const web = await startWeb(redirect('http://second.example/'));
    const lookup: Lookup = async (host) =>
      host === 'first.example' ? [{ address: '127.0.0.1', family: 4 }] : [{ address: '10.0.0.1', family: 4 }];
    const fetchOpen = createGuardedFetch({ lookup, allowedHosts: ['first.example'] });
    expect(await code(fetchOpen(`http://first.example:${web.port}/`))).toBe('address_refused');
  });

  it('that the caller does not allow are refused before they are sent', async () => {
    const target = await startWeb((_request, response) => void response.end('end'));
    const web = await startWeb(redirect(target.url));
    expect(await code(open()(web.url, { allowsRedirect: () => false }))).toBe('redirect_refused');
    expect(target.requests).toHaveLength(0);
    const allowsRedirect = (url: URL) => url.href === `${target.url}/`;
    expect((await open()(web.url, { allowsRedirect })).text()).toBe('end');
  });

  it('end at the limit', async () => {
    const web = await startWeb(redirect('/again'));
    expect(await code(open({ maxRedirects: 3 })(web.url))).toBe('redirects_exceeded');
    expect(web.requests).toHaveLength(4);
  });

  it('are handed back where none are allowed', async () => {
    const web = await startWeb(redirect('http://10.0.0.1/'));
    const answer = await open({ maxRedirects: 0 })(web.url);
    expect([answer.status, answer.headers.get('location')]).toEqual([302, 'http://10.0.0.1/']);
  });

  it.each([
    [303, 'POST', 'GET', ''],
    [302, 'POST', 'GET', ''],
    [301, 'PUT', 'PUT', 'body'],
    [307, 'POST', 'POST', 'body'],
    [308, 'POST', 'POST', 'body'],
  ])('%i after %s ask with %s', async (status, method, expected, body) => {
    const web = await startWeb((request, response) => {
      if (request.url === '/start') return void response.writeHead(status, { location: '/end' }).end();
      let received = '';
      request.on('data', (chunk) => {
        received += chunk;
      });
      request.on('end', () => response.end(`${request.method} ${received}`));
    });
    const answer = await open()(`${web.url}/start`, { method, body: 'body' });
    expect(answer.text()).toBe(`${expected} ${body}`);
  });

  it('keep credentials on the same origin and drop them before another', async () => {
    const echo: RequestListener = (request, response) => void response.end(JSON.stringify(request.headers));
    const other = await startWeb(echo);
    const web = await startWeb((request, response) => {
      if (request.url === '/far') return void response.writeHead(302, { location: other.url }).end();
      if (request.url === '/near') return void response.writeHead(302, { location: '/echo' }).end();
      echo(request, response);
    });
    const headers = {
      Authorization: 'Bearer s3cret',
      'X-A2A-Notification-Token': 's3cret',
      Accept: 'text/html',
    };
    const near = (await open()(`${web.url}/near`, { headers })).text();
    const far = (await open()(`${web.url}/far`, { headers })).text();
    expect(near).toContain('s3cret');
    expect(far).not.toContain('s3cret');
    expect(JSON.parse(far)).toMatchObject({ accept: 'text/html', 'user-agent': 'trunkline' });
  });
});
