import { describe, expect, it } from 'vitest';
import { sseParser } from './eventStream.ts';

const STREAM = [
  ': a comment',
  'retry: 2500',
  '',
  'id: 7',
  'event: text-delta',
  'data: {"text":"two',
  'data:lines"}',
  '',
  'data: no id of its own',
  '',
  'event: nothing',
  '',
  'data: never ended',
].join('\n');

const EVENTS = [
  { id: '7', event: 'text-delta', data: '{"text":"two\nlines"}' },
  { id: '7', event: 'message', data: 'no id of its own' },
];

describe('sseParser', () => {
  it('reads events, and takes only what an empty line has ended', () => {
    const parser = sseParser();
    expect(parser.push(STREAM)).toEqual(EVENTS);
    expect(parser.retryMs()).toBe(2500);
  });

  it.each(['\n', '\r\n', '\r'])('reads the same in single characters, with lines ended by %j', (end) => {
    const parser = sseParser();
    // A carriage return at the very end waits for a possible line feed.
    const pieces = [...STREAM.replaceAll('\n', end)];
    expect(pieces.flatMap((piece) => parser.push(piece))).toEqual(EVENTS);
  });

  it('starts from the id it is given', () => {
    expect(sseParser('41').push('data: x\n\n')).toEqual([{ id: '41', event: 'message', data: 'x' }]);
  });
});
