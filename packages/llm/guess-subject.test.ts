import { expect, it } from 'vitest';
import { guessSubject } from './guess-subject.ts';

it.each<[object, object]>([
  [{ path: 'keys/a' }, { path: 'keys/a' }],
  [{ options: { filePath: 'keys/a' } }, { path: 'keys/a' }],
  [{ words: '/srv/keys/a' }, { path: '/srv/keys/a' }],
  [{ words: 'C:\\keys\\a' }, { path: 'C:\\keys\\a' }],
  [{ uri: 'file:///srv/my%20keys' }, { path: '/srv/my keys' }],
  [
    { source: 'a', destination: 'keys/a' },
    { path: 'a', others: [{ path: 'keys/a' }] },
  ],
  [{ text: 'https://A.example/x' }, { url: 'https://a.example/x', host: 'a.example' }],
  [{ url: 'a.internal:8080/x' }, { host: 'a.internal' }],
  [{ hostname: 'a.internal:8080' }, { host: 'a.internal' }],
  [{ command: 'rm -rf /' }, { command: 'rm -rf /' }],
  [{ command: 'rm', args: ['-rf', 'x'] }, { command: 'rm -rf x' }],
  [{ cmd: ['rm', 'x'] }, { command: 'rm x', others: [{ command: 'rm' }, { command: 'x' }] }],
  [{ chatId: 42 }, { recipient: '42' }],
  [
    { to: 'Ada <ada@a.example>, bob@b.example' },
    { recipient: 'ada@a.example', others: [{ recipient: 'bob@b.example' }] },
  ],
  [{ body: 'mailto:ada@a.example' }, { recipient: 'ada@a.example' }],
])('finds what a call of a tool that others wrote is about: %o', (input, subject) => {
  expect(guessSubject(input)).toEqual({ ...subject, guessed: true });
});

it('finds nothing in plain words and numbers, and no address to read where nothing is reached', () => {
  expect(guessSubject({ query: 'how high is the tide at 3:30?', limit: 5, deep: [null, true] })).toEqual({});
  expect(guessSubject({ url: 'https://a.example/' }, { staysHere: true })).toEqual({
    host: 'a.example',
    guessed: true,
  });
});
