import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FrameQueue, formatSseFrame, type ReceivedEvent, readSse, type SseEvent } from './sse.ts';

describe('formatSseFrame', () => {
  it('writes the fields in one order, and a blank line', () => {
    expect(formatSseFrame({ data: 'x', event: 'tick', id: '7', retry: 1500 })).toBe(
      'retry: 1500\nid: 7\nevent: tick\ndata: x\n\n',
    );
  });

  it('repeats the field for every line, whatever ends the lines', () => {
    expect(formatSseFrame({ data: 'a\nb\r\nc\rd' })).toBe('data: a\ndata: b\ndata: c\ndata: d\n\n');
  });

  it('writes comments and empty data', () => {
    expect(formatSseFrame({ comment: 'connected' })).toBe(': connected\n\n');
    expect(formatSseFrame({ data: '' })).toBe('data: \n\n');
  });

  it('lets no id or event name start a field of its own', () => {
    expect(formatSseFrame({ id: '1\ndata: forged', event: 'a\r\nretry: 0', data: 'x' })).toBe(
      'id: 1 data: forged\nevent: a retry: 0\ndata: x\n\n',
    );
  });
});

/** The bytes cut into pieces of the given sizes. */
async function* pieces(bytes: Uint8Array, sizes: readonly number[]) {
  let at = 0;
  for (const size of sizes) {
    yield bytes.subarray(at, at + size);
    at += size;
  }
  yield bytes.subarray(at);
}

async function readAll(
  text: string,
  options: Parameters<typeof readSse>[1] = {},
  sizes: readonly number[] = [],
) {
  const events: ReceivedEvent[] = [];
  for await (const event of readSse(pieces(Buffer.from(text), sizes), options)) events.push(event);
  return events;
}

describe('readSse', () => {
  it('takes CR, LF and CRLF, also mixed and cut between the two characters', async () => {
    const text = 'data: a\r\ndata: b\r\rdata: c\n\nevent: e\r\ndata: d\r\n\r\n';
    const expected = [
      { id: '', event: 'message', data: 'a\nb' },
      { id: '', event: 'message', data: 'c' },
      { id: '', event: 'e', data: 'd' },
    ];
    for (let cut = 0; cut <= text.length; cut += 1) expect(await readAll(text, {}, [cut])).toEqual(expected);
  });

  it('drops a byte order mark at the start only', async () => {
    expect(await readAll('\uFEFFdata: x\n\n')).toMatchObject([{ data: 'x' }]);
    expect(await readAll('data: x\n\n\uFEFFdata: y\n\n')).toMatchObject([{ data: 'x' }]);
  });

  it('takes one blank off a value and keeps the rest', async () => {
    expect(await readAll('data:x\ndata:  y\ndata\n\n')).toMatchObject([{ data: 'x\n y\n' }]);
  });

  it('keeps the last id over events, resets the name, ignores an id with NUL', async () => {
    const events = await readAll(
      'id: 1\nevent: e\ndata: a\n\ndata: b\n\nid: 2\u0000\ndata: c\n\nid\ndata: d\n\n',
    );
    expect(events.map(({ id, event }) => [id, event])).toEqual([
      ['1', 'e'],
      ['1', 'message'],
      ['1', 'message'],
      ['', 'message'],
    ]);
  });

  it('gives no event for a block without data, nor for one that never ended', async () => {
    expect(await readAll('event: e\nid: 3\n\n: note\n\ndata: lost')).toEqual([]);
    expect(await readAll('data: lost\n')).toEqual([]);
  });

  it('ends an event with a last CR before the end', async () => {
    expect(await readAll('data: x\r\r')).toMatchObject([{ data: 'x' }]);
  });

  it('reports comments and reconnection times', async () => {
    const comments: string[] = [];
    const times: number[] = [];
    const onComment = (comment: string) => comments.push(comment);
    const onRetry = (milliseconds: number) => times.push(milliseconds);
    await readAll(': hi\n:there\nretry: 2500\nretry: soon\n\n', { onComment, onRetry });
    expect({ comments, times }).toEqual({ comments: ['hi', 'there'], times: [2500] });
  });

  it('reads a long line in small pieces without going over it again with each', async () => {
    const long = 'x'.repeat(6_000_000);
    const sizes = Array.from({ length: 6000 }, () => 1000);
    const [event] = await readAll(`data: ${long}\n\n`, {}, sizes);
    expect(event?.data === long).toBe(true);
  });

  it('stops at an event, or a line, that is too long', async () => {
    await expect(readAll(`data: ${'x'.repeat(200)}`, { maxEventLength: 100 })).rejects.toThrow(
      'more than 100',
    );
    await expect(readAll('data: x\n'.repeat(100), { maxEventLength: 100 })).rejects.toThrow('more than 100');
  });

  it('reads back whatever was written, however it is cut', async () => {
    const text = fc.string({ unit: 'binary', maxLength: 20 }).map((value) => value.toWellFormed());
    const event = fc.record({ data: text }, { requiredKeys: ['data'] });
    await fc.assert(
      fc.asyncProperty(
        fc.array(event, { maxLength: 5 }),
        fc.array(fc.nat(9)),
        async (events: SseEvent[], sizes) => {
          const wire = events.map((one) => formatSseFrame({ ...one, event: 'e' })).join('');
          const read = await readAll(`: start\n\n${wire}`, {}, sizes);
          expect(read.map(({ data }) => data)).toEqual(
            events.map(({ data }) => data?.replace(/\r\n?/g, '\n')),
          );
        },
      ),
      { numRuns: 60 },
    );
  });
});

const drain = (queue: FrameQueue) => {
  const frames = [];
  while (queue.length > 0) frames.push(queue.shift());
  return frames;
};

describe('FrameQueue', () => {
  it('gives frames back in order', () => {
    const queue = new FrameQueue({ frames: 10, bytes: 100 });
    for (const frame of ['a', 'b', 'c']) queue.push(frame);
    expect(drain(queue)).toEqual(['a', 'b', 'c']);
    expect(queue.shift()).toBeUndefined();
  });

  it('drops the oldest beyond the number of frames', () => {
    const queue = new FrameQueue({ frames: 3, bytes: 1000 });
    const dropped = Array.from({ length: 10 }, (_, index) => queue.push(`${index}`));
    expect(dropped).toEqual([0, 0, 0, 1, 1, 1, 1, 1, 1, 1]);
    expect(drain(queue)).toEqual(['7', '8', '9']);
  });

  it('drops as many as a large frame needs room for', () => {
    const queue = new FrameQueue({ frames: 100, bytes: 10 });
    for (const frame of ['aaaa', 'bbbb']) queue.push(frame);
    expect(queue.push('cccccccc')).toBe(2);
    expect(queue.bytes).toBe(8);
    expect(drain(queue)).toEqual(['cccccccc']);
  });

  it('loses a frame larger than itself and keeps the others', () => {
    const queue = new FrameQueue({ frames: 100, bytes: 10 });
    queue.push('aaaa');
    expect(queue.push('x'.repeat(11))).toBe(1);
    expect(drain(queue)).toEqual(['aaaa']);
  });

  it('never passes its limits in a long run of mixed work', () => {
    const queue = new FrameQueue({ frames: 50, bytes: 500 });
    let taken = 0;
    let lost = 0;
    for (let index = 0; index < 3_000; index += 1) {
      lost += queue.push('x'.repeat(index % 40));
      if (index % 3 === 0 && queue.shift() !== undefined) taken += 1;
      expect(queue.length).toBeLessThanOrEqual(50);
      expect(queue.bytes).toBeLessThanOrEqual(500);
    }
    expect(taken + lost + queue.length).toBe(3_000);
    drain(queue);
    expect(queue.bytes).toBe(0);
  });
});
