import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Attack, openMode, raw, startAttack } from './attack.suite.ts';
import { type Name, names } from './security.suite.ts';

/** Requests as hostile pages would have browsers send them, byte by byte. */
let attack: Attack;
beforeAll(async () => {
  attack = await startAttack({ env: openMode, files: { 'voice/config/users.yaml': 'users: []' } });
});
afterAll(() => attack.stop());

describe('bodies that browsers send without asking first', () => {
  const types = [
    undefined,
    '',
    'text/plain',
    'text/plain; application/json',
    'text/plain;charset=application/json',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=application/json',
    'text/plain, application/json',
    'application/jsonx',
    'application/octet-stream',
  ];
  const doors: [Name, method: string, path: string][] = [
    ['agent', 'POST', '/a2a'],
    ['agent', 'POST', '/message:send'],
    ['agent', 'POST', '/v1/message:send'],
    ['agent', 'POST', '/api/chat'],
    ['agent', 'POST', '/api/inbox'],
    ['agent', 'POST', '/v1/chat/completions'],
    ['research', 'POST', '/a2a'],
    ['research', 'POST', '/api/chat'],
    ['research', 'POST', '/api/research/deep'],
    ['switchboard', 'POST', '/a2a'],
    ['switchboard', 'POST', '/publish'],
    ['switchboard', 'POST', '/v1/chat/completions'],
    ['voice', 'POST', '/a2a'],
    ['voice', 'POST', '/a2a/callback'],
    ['voice', 'POST', '/api/verbosity'],
    ['voice', 'POST', '/api/offer'],
  ];

  it.each(doors)('%s %s %s refuses them', async (name, method, path) => {
    // A2A says it in its own way.
    const refused = ({ status, text }: { status: number; text: string }) =>
      status === 415 || text.includes('-32005');
    for (const type of types) {
      const headers = type === undefined ? {} : { 'content-type': type };
      const answer = await raw(attack.url(name), method, path, { headers, body: '{}' });
      expect({ type, refused: refused(answer) }).toEqual({ type, refused: true });
    }
    for (const type of ['application/json', 'application/json; charset=utf-8', 'APPLICATION/JSON']) {
      const answer = await raw(attack.url(name), method, path, {
        headers: { 'content-type': type },
        body: '{}',
      });
      expect({ type, refused: refused(answer) }).toEqual({ type, refused: false });
    }
  });
});

describe('names and origins that look like our own', () => {
  it('a Host that only looks local is not', async () => {
    const { port } = new URL(attack.url('agent'));
    const hosts = [
      `127.0.0.1.evil.example:${port}`,
      `localhost.evil.example:${port}`,
      `evil.example.:${port}`,
      `EVIL.example:${port}`,
      'evil.example',
      'user@evil.example',
      '127.0.0.1@evil.example',
      'evil.example/127.0.0.1',
      'evil.example#.local',
      'evil.example?.local',
      'evil.example\\.local',
    ];
    for (const name of names)
      for (const host of hosts) {
        const path = {
          agent: '/api/tasks',
          voice: '/api/whoami',
          research: '/api/files',
          switchboard: '/api/flows',
        }[name];
        const headers = { host, 'x-forwarded-host': '127.0.0.1', forwarded: 'host=127.0.0.1' };
        const { status } = await raw(attack.url(name), 'GET', path, { headers });
        expect({ name, host, status }).toEqual({
          name,
          host,
          status: expect.toSatisfy((code) => code === 403 || code === 400),
        });
      }
  });

  it('an Origin that is not exactly the Host is foreign', async () => {
    for (const name of names) {
      const { port } = new URL(attack.url(name));
      const path = {
        agent: '/api/inbox',
        voice: '/api/verbosity',
        research: '/api/chat',
        switchboard: '/publish',
      }[name];
      const origins = [
        'null',
        'http://127.0.0.1',
        `http://127.0.0.1:${port}.evil.example`,
        `http://127.0.0.1:${port}@evil.example`,
        `http://127.0.0.1:${Number(port) + 1}`,
        `http://localhost:${port}`,
        `http://[::1]:${port}`,
        'file://',
        'chrome-extension://abcdef',
        `http://127.0.0.1:${port}, http://evil.example`,
      ];
      for (const origin of origins)
        for (const site of [undefined, 'same-origin', 'none', 'same-site']) {
          const headers = {
            host: `127.0.0.1:${port}`,
            origin,
            'content-type': 'application/json',
            ...(site && { 'sec-fetch-site': site }),
          };
          const { status } = await raw(attack.url(name), 'POST', path, { headers, body: '{}' });
          expect({ name, origin, site, status }).toEqual({ name, origin, site, status: 403 });
        }
    }
  });
});
