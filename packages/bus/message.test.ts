import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createId } from './identifier.ts';
import { checkMessage, decodeMessage, maximumMessageBytes } from './message.ts';
import type { Draft } from './port.ts';

/** The message and its JSON text. */
function encodeMessage(draft: Draft) {
  const { message, text } = checkMessage(draft);
  return { message, text: text() };
}

const draft = { topic: 'a.b', payload: { text: 'hello' } };

describe('a message', () => {
  it('gets an id, a time and a correlation when it has none', () => {
    const before = Date.now();
    const { message } = encodeMessage(draft);
    expect(message.correlationId).toBe(message.id);
    expect(message.timestamp).toBeGreaterThanOrEqual(before);
    expect(message).toMatchObject(draft);
  });

  it('keeps what it is given', () => {
    const given = {
      ...draft,
      id: 'nightly@2026-01-01T00:00:00Z',
      correlationId: 'c 1',
      parentId: 'p1',
      timestamp: 5,
      source: { interface: 'chat', channelId: 'general', userId: 'ü' },
      reply: { topic: 'x.y', format: 'markdown' },
    };
    const { message, text } = encodeMessage(given);
    expect(message).toEqual(given);
    expect(decodeMessage(text)).toEqual(given);
  });

  it('is the same after a way through its JSON text, whatever its payload', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (payload) => {
        fc.pre(!JSON.stringify(payload).includes('"__proto__"'));
        const { message, text } = encodeMessage({ topic: 'a', payload });
        expect(JSON.stringify(decodeMessage(text))).toBe(JSON.stringify(message));
      }),
    );
  });

  it('is a frozen copy: neither the publisher nor a handler can change it', () => {
    const payload = { list: [{ deep: 1 }] };
    const { message, text } = encodeMessage({ topic: 'a', payload });
    payload.list[0]!.deep = 2;
    expect(message.payload).toEqual({ list: [{ deep: 1 }] });
    for (const { payload: seen } of [message, decodeMessage(text)]) {
      expect(() => {
        (seen as typeof payload).list[0]!.deep = 3;
      }).toThrow(TypeError);
    }
  });

  it('leaves out properties that are undefined', () => {
    const { text } = encodeMessage({ topic: 'a', payload: { here: 1, gone: undefined } });
    expect(decodeMessage(text).payload).toEqual({ here: 1 });
  });

  const circular: Record<string, unknown> = {};
  circular.self = circular;
  it.each<[string, unknown, string]>([
    ['nothing', undefined, 'payload is undefined'],
    ['a function', { run: () => 1 }, 'payload.run is a function'],
    ['a date', { list: [1, new Date(0)] }, 'payload.list[1] is a Date'],
    ['a map', new Map(), 'payload is a Map'],
    ['not a number', { n: Number.NaN }, 'payload.n is NaN'],
    ['a bigint', 5n, 'payload is a bigint'],
    ['a hole', [undefined], 'payload[0] is undefined'],
    ['a circle', circular, 'circular'],
    ['a prototype', JSON.parse('{"__proto__":1}'), '__proto__'],
  ])('refuses %s in the payload and names the place', (_, payload, words) => {
    expect(() => encodeMessage({ topic: 'a', payload })).toThrow(
      expect.objectContaining({ code: 'message_refused', message: expect.stringContaining(words) }),
    );
  });

  it.each<[string, Partial<Draft>]>([
    ['id', { id: 'has blank' }],
    ['id', { id: '' }],
    ['id', { id: 'x'.repeat(129) }],
    ['parentId', { parentId: 'ü' }],
    ['correlationId', { correlationId: '' }],
    ['correlationId', { correlationId: 'line\nbreak' }],
    ['timestamp', { timestamp: 1.5 }],
    ['timestamp', { timestamp: -1 }],
    ['source.interface', { source: { interface: '' } }],
    ['source.userId', { source: { interface: 'chat', userId: '\u0000' } }],
    ['reply.format', { reply: { topic: 'a', format: '' } }],
  ])('refuses a bad %s', (field, part) => {
    expect(() => encodeMessage({ ...draft, ...part })).toThrow(
      expect.objectContaining({ code: 'message_refused', message: expect.stringContaining(field) }),
    );
  });

  it('refuses a reply topic that is none', () => {
    expect(() => encodeMessage({ ...draft, reply: { topic: 'a b' } })).toThrow('not a topic');
  });

  it('may be as large as NATS carries, counted in bytes, and not larger', () => {
    const frame = encodeMessage({ topic: 'a', payload: '', id: 'i', timestamp: 1 }).text.length;
    const room = maximumMessageBytes - frame;
    const sized = (payload: string) => encodeMessage({ topic: 'a', payload, id: 'i', timestamp: 1 });
    expect(Buffer.byteLength(sized('x'.repeat(room)).text)).toBe(maximumMessageBytes);
    expect(() => sized('x'.repeat(room + 1))).toThrow(
      expect.objectContaining({ code: 'message_too_large', message: expect.stringContaining('bytes') }),
    );
    expect(() => sized('é'.repeat(room / 2 + 1))).toThrow(
      expect.objectContaining({ code: 'message_too_large' }),
    );
  });
});

describe('made ids', () => {
  it('are distinct UUIDs of version 7 that sort in the order of making', () => {
    const ids = Array.from({ length: 20_000 }, () => createId());
    expect(new Set(ids).size).toBe(ids.length);
    expect([...ids].sort()).toEqual(ids);
    const shape = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
    expect(ids.filter((id) => !shape.test(id))).toEqual([]);
  });
});
