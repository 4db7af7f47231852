import { expect, it } from 'vitest';
import { startApp } from '../fixtures/test-kit.ts';
import { mountFileLinks, type OpenLink } from './file-links.ts';

const found = { name: 'sea.txt', mediaType: 'text/plain', bytes: Buffer.from('sea') };

it.each<[Awaited<ReturnType<OpenLink>>, number, string | null]>([
  [found, 200, null],
  ['refused', 403, null],
  [undefined, 404, null],
  ['away', 503, '10'],
])('answers what a link leads to (case %#), and when to try again', async (opened, status, after) => {
  const { url } = await startApp((app) => mountFileLinks(app, async () => opened));
  const answer = await fetch(`${url}/files/a?expires=1&signature=x`);
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([status, after]);
});
