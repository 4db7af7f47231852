import { expect, it } from 'vitest';
import { createEars, type EarsWork, type Scan } from './ears.ts';

/** Finds in every window its first sample, and remembers how many windows it has seen. */
function open() {
  const works: EarsWork[] = [];
  const ears = createEars({
    async ask<Value>(work: unknown) {
      const scan = work as Extract<EarsWork, { kind: 'scan' }>;
      works.push(scan);
      const probabilities = [...scan.samples].filter((_, index) => index % 512 === 0);
      const seen = (scan.memory?.state[0] ?? 0) + probabilities.length;
      const memory = { context: new Float32Array(), state: Float32Array.of(seen) };
      return { probabilities, memory } satisfies Scan as Value;
    },
  });
  return { ears, works };
}

const sound = (...windows: number[]) =>
  Float32Array.from({ length: windows.length * 512 }, (_, index) => windows[index >> 9] ?? 0);

it('looks through an utterance that grows once', async () => {
  const { ears, works } = open();
  const utterance = {};
  expect(await ears.scan(sound(1, 2), { final: false, utterance })).toEqual([1, 2]);
  expect(await ears.scan(sound(1, 2, 3), { final: true, utterance })).toEqual([1, 2, 3]);
  expect(works.map(({ samples }) => samples.length / 512)).toEqual([2, 1]);
  expect(works[1]).toMatchObject({ memory: { state: Float32Array.of(2) } });
});

it('looks through every other sound from its beginning', async () => {
  const { ears, works } = open();
  await ears.scan(sound(1, 2), { final: true, utterance: {} });
  await ears.scan(sound(3, 4), { final: true, utterance: {} });
  expect(await ears.scan(sound(5), { final: true })).toEqual([5]);
  expect(works.map((work) => 'memory' in work && work.memory)).toEqual([undefined, undefined, undefined]);
});
