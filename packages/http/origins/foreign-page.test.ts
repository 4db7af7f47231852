import { expect, it } from 'vitest';
import { refuseForeignPage } from './foreign-page.ts';

const ask = (
  headers: Record<string, string>,
  method = 'POST',
  allowed: string[] = [],
  allowedHosts: string[] = [],
) => {
  refuseForeignPage({ get: () => allowedHosts, req: { method, header: (name) => headers[name] } }, allowed);
  return 'taken';
};

it.each([
  'http://evil.example',
  'http://evil.example:7870',
  'http://127.0.0.1.evil.example',
  'null',
  'nonsense',
])('refuses changes by a page of %s', (origin) => {
  expect(() => ask({ origin })).toThrow(expect.objectContaining({ code: 'foreign_page', status: 403 }));
});

it.each([
  'http://127.0.0.1:7870',
  'http://[::1]:7870',
  'http://localhost:3000',
  'http://agent:7870',
  'http://box.local',
  'http://agent.space.svc.cluster.local',
  'http://box.home.arpa.',
  'https://box.example',
])('takes changes by a page of %s', (origin) => {
  expect(ask({ origin })).toBe('taken');
});

it('takes what names no page, what only reads, what browsers mark, and what is listed', () => {
  const origin = 'http://board.example';
  expect(ask({})).toBe('taken');
  expect(ask({ origin }, 'GET')).toBe('taken');
  expect(ask({ origin, 'sec-fetch-site': 'same-origin' })).toBe('taken');
  expect(ask({ origin }, 'POST', [origin])).toBe('taken');
  expect(ask({ origin }, 'DELETE', ['*'])).toBe('taken');
});

it.each(['evil.example', 'evil.example:7870', 'EVIL.example.', '127.0.0.1.evil.example:80'])(
  'answers nobody who asks for it as %s',
  (host) => {
    for (const method of ['GET', 'POST'])
      expect(() => ask({ host }, method)).toThrow(
        expect.objectContaining({ code: 'foreign_name', status: 403 }),
      );
  },
);

it.each([
  '127.0.0.1:7870',
  '192.168.1.5',
  '[::1]:7870',
  'localhost:3000',
  'agent:7870',
  'box.local',
  'agent.space.svc.cluster.local:80',
])('answers whoever asks for it as %s', (host) => {
  expect(ask({ host }, 'GET')).toBe('taken');
});

it('answers to a name of the internet that is listed, or that a browser reached with TLS', () => {
  const host = 'board.example:8443';
  expect(ask({ host }, 'GET', [], ['board.example'])).toBe('taken');
  expect(ask({ host, 'sec-fetch-site': 'same-origin' }, 'GET')).toBe('taken');
  expect(ask({ host, origin: 'http://board.example' }, 'POST', ['http://board.example'])).toBe('taken');
  expect(() => ask({ host }, 'GET', [], ['other.example'])).toThrow('ALLOWED_HOSTS');
});
