import { expect, it } from 'vitest';
import { refuseForeignPage } from './foreign-page.ts';

const ask = (headers: Record<string, string>, method = 'POST', allowed: string[] = []) => {
  refuseForeignPage({ method, header: (name) => headers[name] }, allowed);
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
