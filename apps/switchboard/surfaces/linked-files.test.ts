import { expect, it } from 'vitest';
import { type FileHost, linkedFiles } from './linked-files.ts';

const host: FileHost = {
  origin: 'https://files.example',
  isFile: ({ hostname }) => hostname === 'files.example',
  authorized: (_, call) => call(undefined),
  maxBytes: 1000,
  timeoutMs: 1000,
};

it('finds links and bare addresses of files, once each', () => {
  const text =
    'See ![plan.png](https://files.example/1 "the plan") and [notes]( <https://files.example/notes.txt> ), ' +
    'https://files.example/2.pdf [other](https://x.example/3.pdf) https://files.example/1';
  expect(linkedFiles(text, host).map(({ name }) => name)).toEqual(['plan.png', 'notes.txt', '2.pdf']);
});

it('looks through a link without an end as fast as through any text', () => {
  const text = `[a](https://files.example/${'x'.repeat(300_000)}`;
  expect(linkedFiles(text, host).map(({ name }) => name)).toEqual(['a']);
});
