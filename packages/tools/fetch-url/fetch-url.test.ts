import { freePort, pdfOf, pdfUnpackingTo } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callTool } from '../call-tool.suite.ts';
import { type PageServer, send, startPages } from '../page-server.suite.ts';
import { createFetchUrl } from './fetch-url.ts';

let pages: PageServer;
const open = { allowedCidrs: ['127.0.0.0/8'] };
const fetchUrl = (path: string, more: object = {}) =>
  callTool(createFetchUrl(open), { url: `${pages.url}${path}`, ...more });

const article = `<!doctype html><html><head><title>T</title><style>p{}</style></head><body>
<nav>menu words</nav><header>banner</header>
<main><h1>Heading</h1><p>First  <b>bold</b> words.</p><script>secret()</script><noscript>no script</noscript><ul><li>one<li>two</ul></main>
<footer>foot words</footer></body></html>`;

beforeAll(async () => {
  pages = await startPages({
    '/article': send('text/html; charset=utf-8', article),
    '/bare': send('text/html', '<body><nav>menu</nav><div>only <i>this</i></div><footer>foot</footer>'),
    '/empty-main': send('text/html', '<main> </main><article>the article</article>'),
    '/json': send('application/json', '{"a": 1}'),
    '/plain': send('text/plain', 'x'.repeat(9000)),
    '/missing': send('text/html', '<main>not here</main>', 404),
    '/latin': send('text/html; charset=iso-8859-1', Buffer.from('<main>Grüße</main>', 'latin1')),
    '/meta': send('text/html', Buffer.from('<meta charset="windows-1252"><main>10 \x80</main>', 'latin1')),
    '/unknown-charset': send('text/html; charset=klingon', '<main>Grüße</main>'),
    '/large': send('text/plain', 'y'.repeat(3 * 1024 * 1024)),
    '/image': send('image/png', Buffer.from([137, 80, 78, 71, 0])),
    '/binary': send('application/octet-stream', Buffer.from([1, 0, 2])),
    '/pdf': send('application/pdf', pdfOf('Hello from page one', 'And page two')),
    '/broken-pdf': send('application/pdf', '%PDF-1.4 nothing'),
    '/large-pdf': send('application/pdf', `%PDF-1.4 ${'z'.repeat(3 * 1024 * 1024)}`),
    '/nested': send('text/html', `${'<div>'.repeat(1900)}bottom`),
    '/deep': send('text/html', `${'<div>'.repeat(100_000)}bottom`),
    '/deep-list': send('text/html', `${'<li><p>'.repeat(250_000)}bottom`),
    '/deep-table': send('text/html', `${'<tr><dd>'.repeat(200_000)}bottom`),
    '/long-list': send(
      'text/html',
      `<ul>${'<li><b>one</b> of many'.repeat(20_000)}</ul><p>a${'<p>b'.repeat(9000)}`,
    ),
    '/bomb-pdf': send('application/pdf', pdfUnpackingTo(320)),
    '/to-private': (response) => void response.writeHead(302, { location: 'http://10.0.0.1/' }).end(),
    '/to-file': (response) => void response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
    '/loop': (response) => void response.writeHead(302, { location: '/loop' }).end(),
    '/moved': (response) => void response.writeHead(301, { location: '/json' }).end(),
    '/away': (response) => {
      const location = `${pages.url.replace('127.0.0.1', '127.0.0.2')}/json?d=1`;
      response.writeHead(302, { location }).end();
    },
    '/drip': (response) => {
      response.writeHead(200, { 'content-type': 'text/plain' });
      const timer = setInterval(() => response.write('.'), 20);
      response.on('close', () => clearInterval(timer));
    },
    '/cut': (response) => {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-length': '1000' });
      response.write('part');
      setImmediate(() => response.destroy());
    },
  });
});
afterAll(() => pages.stop());

describe('fetch_url', () => {
  it('begins with the status and address and reads the main content alone [A074]', async () => {
    expect(await fetchUrl('/article')).toBe(
      `[200] ${pages.url}/article\nHeading\nFirst bold words.\none\ntwo`,
    );
  });

  it('reads the body of a page that marks no main content', async () => {
    expect(await fetchUrl('/bare')).toBe(`[200] ${pages.url}/bare\nonly this`);
    expect(await fetchUrl('/empty-main')).toBe(`[200] ${pages.url}/empty-main\nthe article`);
  });

  it('gives other text as it is, and the status of an error page [A074]', async () => {
    expect(await fetchUrl('/json')).toBe(`[200] ${pages.url}/json\n{"a": 1}`);
    expect(await fetchUrl('/missing')).toBe(`[404] ${pages.url}/missing\nnot here`);
  });

  it('cuts at 8000 characters, or at max_chars [A074] [A187]', async () => {
    const whole = await fetchUrl('/plain');
    expect(whole).toBe(`[200] ${pages.url}/plain\n${'x'.repeat(8000)}…[truncated]`);
    expect(await fetchUrl('/plain', { max_chars: 3 })).toBe(`[200] ${pages.url}/plain\nxxx…[truncated]`);
    expect(await fetchUrl('/json', { max_chars: 8 })).toBe(`[200] ${pages.url}/json\n{"a": 1}`);
  });

  it('reads no more than 2 MB of a body and says so [A074] [A187]', async () => {
    const text = await fetchUrl('/large', { max_chars: 90_000_000 });
    expect(text.endsWith('y…[truncated]')).toBe(true);
    expect(text.length).toBeLessThan(2 * 1024 * 1024 + 200);
  });

  it.each([
    ['/latin', 'Grüße'],
    ['/meta', '10 €'],
    ['/unknown-charset', 'Grüße'],
  ])('decodes %s', async (path, words) => {
    expect(await fetchUrl(path)).toBe(`[200] ${pages.url}${path}\n${words}`);
  });

  it('reads the pages of a PDF', async () => {
    expect(await fetchUrl('/pdf')).toBe(`[200] ${pages.url}/pdf\nHello from page one\n\nAnd page two`);
  });

  it.each([
    ['/broken-pdf', 'cannot be read'],
    ['/large-pdf', 'more than 2 MB'],
    ['/image', 'image/png'],
    ['/binary', 'not text'],
    ['/to-private', '10.0.0.1 leads to a private address'],
    ['/to-file', 'Only http and https'],
    ['/loop', 'redirected more than'],
    ['/cut', 'could not be fetched'],
    ['/deep', 'nested too deep'],
    ['/deep-list', 'nested too deep'],
    ['/deep-table', 'nested too deep'],
    ['/bomb-pdf', 'it takes (?:too much memory|longer than 10 seconds)'],
  ])('names what is wrong with %s', async (path, words) => {
    expect(await fetchUrl(path)).toMatch(new RegExp(`^Error: .*${words}`));
  });

  it('gives the address that a redirect led to', async () => {
    expect(await fetchUrl('/moved')).toBe(`[200] ${pages.url}/json\n{"a": 1}`);
  });

  it('follows a redirect to another host only where policy permits that address', async () => {
    const other = pages.url.replace('127.0.0.1', '127.0.0.2');
    const asked: unknown[] = [];
    const fetching = (path: string, permitted: boolean) =>
      callTool(createFetchUrl(open), { url: `${pages.url}${path}` }, undefined, {
        permits: (subject) => asked.push(subject) > 0 && permitted,
      });
    expect(await fetching('/moved', false)).toContain('[200]');
    expect(asked).toEqual([]);
    expect(await fetching('/away', false)).toBe(
      `Error: The address redirects to ${other}/json?d=1, which this request may not read. Ask for that address itself.`,
    );
    expect(asked).toEqual([{ url: `${other}/json?d=1`, host: '127.0.0.2' }]);
    expect(await fetching('/away', true)).not.toContain('may not read');
  });

  it('says of a failure whether its words are our own, or may quote what others wrote', async () => {
    const gone = `http://127.0.0.1:${await freePort()}/`;
    const isOurs = async (url: string, options = open) => {
      let ours = false;
      const ownWords = () => {
        ours = true;
      };
      await callTool(createFetchUrl(options), { url }, undefined, { ownWords });
      return ours;
    };
    const nowhere = { ...open, lookup: () => Promise.reject(new Error('no network')) };
    expect(await isOurs(gone)).toBe(true);
    expect(await isOurs('http://a.example/', nowhere)).toBe(true);
    expect(await isOurs('not an address')).toBe(true);
    for (const path of ['/json', '/missing', '/image', '/to-private', '/to-file', '/cut'])
      expect([path, await isOurs(`${pages.url}${path}`)]).toEqual([path, false]);
  });

  it('reads a page nested as deep as it can be parsed quickly', async () => {
    expect(await fetchUrl('/nested')).toBe(`[200] ${pages.url}/nested\nbottom`);
    expect(await fetchUrl('/long-list')).toContain('one of many\none of many');
  });

  it('gives up on a body that drips for ever', async () => {
    const tool = createFetchUrl({ ...open, timeoutMs: 150 });
    expect(await callTool(tool, { url: `${pages.url}/drip` })).toMatch(/^Error: .*did not finish/);
  });

  it('stops with the turn', async () => {
    const stop = new AbortController();
    const call = callTool(createFetchUrl(open), { url: `${pages.url}/drip` }, stop.signal);
    stop.abort(new Error('enough'));
    await expect(call).rejects.toThrow('enough');
  });

  it.each([
    ['file:///etc/passwd', 'Only http and https'],
    ['ftp://example.com/', 'Only http and https'],
    ['javascript:alert(1)', 'Only http and https'],
    ['not an address', 'is not a web address'],
    ['http://127.0.0.1:8080/', 'a loopback address'],
    ['http://[::1]/', 'a loopback address'],
    ['http://169.254.169.254/latest/meta-data', 'a link-local address'],
    ['http://0x7f000001/', 'a loopback address'],
    ['http://user:pass@example.com/', 'user name or password'],
  ])('refuses %s [A074]', async (url, words) => {
    expect(await callTool(createFetchUrl(), { url })).toMatch(new RegExp(`^Error: .*${words}`));
  });

  it('refuses a name that resolves to a private address', async () => {
    const tool = createFetchUrl({ lookup: async () => [{ address: '192.168.1.1', family: 4 }] });
    expect(await callTool(tool, { url: 'http://innocent.example/' })).toMatch(/^Error: .*private address/);
  });
});
