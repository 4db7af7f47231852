import { createServer } from 'node:net';
import { expect, it } from 'vitest';
import { errorMessage, toError } from './index.ts';

const endless = new Error('');
endless.cause = endless;

it.each<[unknown, string]>([
  [new Error('the disk is full'), 'the disk is full'],
  [new Error('outer', { cause: new Error('inner') }), 'outer'],
  [new Error('', { cause: new Error('inner') }), 'inner'],
  [new TypeError('fetch failed', { cause: new Error('socket hang up') }), 'socket hang up'],
  [new TypeError('fetch failed'), 'fetch failed'],
  [new AggregateError([new Error('one'), new Error('two'), new Error('one')]), 'one; two'],
  [new AggregateError([new Error('one')], 'Some services did not stop.'), 'Some services did not stop.'],
  [Object.assign(new Error(''), { code: 'ECONNRESET' }), 'ECONNRESET'],
  [new RangeError(''), 'RangeError'],
  [new DOMException('', 'AbortError'), 'AbortError'],
  [new Error(''), 'unknown error'],
  [endless, 'unknown error'],
  ['a plain string', 'a plain string'],
  ['', 'unknown error'],
  [undefined, 'unknown error'],
  [null, 'unknown error'],
  [42, '42'],
  [{ message: 'like an error' }, 'like an error'],
  [{ headers: { authorization: 'Bearer secret' } }, 'unknown error'],
])('reads %o', (error, text) => {
  expect(errorMessage(error)).toBe(text);
});

it('names the address that refused a connection', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  const error: unknown = await fetch(`http://127.0.0.1:${port}`).catch((failure: unknown) => failure);
  expect(errorMessage(error)).toBe(`connect ECONNREFUSED 127.0.0.1:${port}`);
});

it('says what its caller wants where nothing is known', () => {
  expect(errorMessage(new Error(''), 'the tool gave no reason')).toBe('the tool gave no reason');
});

it('turns anything that was thrown into an error', () => {
  const error = new RangeError('too long');
  expect(toError(error)).toBe(error);
  expect(toError('text')).toMatchObject({ message: 'text', cause: 'text' });
});
