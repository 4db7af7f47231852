import { describe, expect, it } from 'vitest';
import { FrameQueue } from './sse.ts';

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
