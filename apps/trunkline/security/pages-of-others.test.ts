import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Locked, type Name, names, startLocked } from './security.suite.ts';

/** As on the first run: no key anywhere, only loopback between the services and the web. */
let open: Locked;
beforeAll(async () => {
  const env = { A2A_AUTH_TOKEN: '', RESEARCH_AUTH_TOKEN: '', SWITCHBOARD_API_KEY: '' };
  open = await startLocked({ env, files: { 'voice/config/users.yaml': 'users: []' } });
});
afterAll(() => open.stop());

/** A change that is harmless and, where it is let in, not refused for want of rights. */
const changes: [Name, string][] = [
  ['voice', '/api/verbosity'],
  ['voice', '/a2a/callback'],
  ['agent', '/api/inbox'],
  ['agent', '/api/mcp/servers/test'],
  ['research', '/api/chat'],
  ['switchboard', '/publish'],
  ['switchboard', '/api/mcp-servers/test'],
  ...names.flatMap((name): [Name, string][] => [
    [name, '/a2a'],
    [name, '/message:send'],
  ]),
];

const evil = 'evil.example:7870';
const pages: [string, Record<string, string>][] = [
  ['whose name was made to point here', { host: evil, origin: `http://${evil}` }],
  ['that posts to an address of the network', { origin: 'http://evil.example' }],
  ['in a frame without an origin', { host: evil, origin: 'null' }],
  [
    'of another site, as browsers mark it',
    { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
  ],
];
const own: [string, Record<string, string>][] = [
  ['no page at all', {}],
  ['its own page', { origin: 'http://127.0.0.1:7870', 'sec-fetch-site': 'same-origin' }],
  [
    'its own page, by an address without TLS',
    { host: '192.168.1.5:7870', origin: 'http://192.168.1.5:7870' },
  ],
  ['its own page, by the name of the machine', { host: 'box.local:7870', origin: 'http://box.local:7870' }],
  [
    'its own page behind a proxy with TLS',
    { host: 'box.example', origin: 'https://box.example', 'sec-fetch-site': 'same-origin' },
  ],
];

describe.each(changes)('%s without a key, at %s', (name, path) => {
  it.each(pages)('takes nothing from a page %s', async (_, headers) => {
    expect(await post(name, path, headers)).toBe(403);
  });

  it.each(own)('takes what comes from %s', async (_, headers) => {
    expect(await post(name, path, headers)).not.toBe(403);
  });
});

/** As browsers send it without asking first: a plain text that happens to be JSON. */
function post(name: Name, path: string, more: Record<string, string>): Promise<number> {
  const { hostname, port } = new URL(open.target(name).url);
  const headers = { 'content-type': 'text/plain', ...more };
  return new Promise((resolve, reject) => {
    const sent = request({ hostname, port, path, method: 'POST', headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.once('error', reject).end('{}');
  });
}
