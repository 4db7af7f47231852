import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startChild, temporaryDirectory } from '@trunkline/testing';
import { expect, it } from 'vitest';
import { replaceDirectory, temporarySibling } from './layout.ts';

it('puts a directory in the place of another, and leaves nothing behind', () => {
  const scratch = temporaryDirectory();
  const target = join(scratch.path, 'deep/pages');
  for (const content of ['first', 'second']) {
    const finished = temporarySibling(target);
    mkdirSync(finished);
    writeFileSync(join(finished, 'page'), content);
    replaceDirectory(finished, target);
    expect(readFileSync(join(target, 'page'), 'utf8')).toBe(content);
  }
  expect(readdirSync(join(scratch.path, 'deep'))).toEqual(['pages']);
  scratch.remove();
});

// Both files of a directory always come from the same writer.
it('never mixes what several processes put there', async () => {
  const scratch = temporaryDirectory();
  const target = join(scratch.path, 'pages');
  const script = join(scratch.path, 'writer.mts');
  writeFileSync(script, writer(target));
  const writers = [1, 2, 3].map(() => startChild(script));
  const exits = await Promise.all(writers.map((child) => child.exited));
  expect(exits.map(({ code }) => code)).toEqual([0, 0, 0]);
  const [one, two] = ['one', 'two'].map((name) => readFileSync(join(target, name), 'utf8'));
  expect(one).toBe(two);
  expect(readdirSync(scratch.path).sort()).toEqual(['pages', 'writer.mts']);
  scratch.remove();
});

function writer(target: string): string {
  return `
    import { mkdirSync, writeFileSync } from 'node:fs';
    import { replaceDirectory, temporarySibling } from ${JSON.stringify(join(import.meta.dirname, 'layout.ts'))};
    for (let round = 0; round < 50; round += 1) {
      const finished = temporarySibling(${JSON.stringify(target)});
      mkdirSync(finished);
      for (const name of ['one', 'two']) writeFileSync(finished + '/' + name, process.pid + ' ' + round);
      replaceDirectory(finished, ${JSON.stringify(target)});
    }
  `;
}
