import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { createLogger } from '@trunkline/config';
import { temporaryDirectory, waitFor } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { openInBrowser } from './run.ts';

const desk = { isTerminal: true, platform: 'linux', env: { DISPLAY: ':0' } } as const;
const link = 'http://127.0.0.1:7870/operator/enter?code=1.secret.signature';

const log: string[] = [];
const logger = createLogger({
  name: 'test',
  level: 'DEBUG',
  destination: { write: (line) => log.push(line) },
});

it('opens the link without showing its code to other accounts of the machine', async () => {
  const { path, remove } = temporaryDirectory();
  const before = process.env.PATH;
  onTestFinished(() => {
    process.env.PATH = before;
    remove();
  });
  const called = join(path, 'called');
  writeFileSync(
    join(path, 'xdg-open'),
    `#!/bin/sh\necho "$@" > ${called}.new && mv ${called}.new ${called}\n`,
  );
  chmodSync(join(path, 'xdg-open'), 0o755);
  process.env.PATH = `${path}${delimiter}${before}`;
  openInBrowser(link, path, desk, logger);
  const words = await waitFor(() => readOrNothing(called));
  const file = join(path, 'open-as-operator.html');
  expect(words.trim()).toBe(file);
  expect(readFileSync(file, 'utf8')).toContain(link);
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

it('goes on where there is no program that opens a browser', async () => {
  const { path, remove } = temporaryDirectory();
  const before = process.env.PATH;
  onTestFinished(() => {
    process.env.PATH = before;
    remove();
  });
  process.env.PATH = path;
  openInBrowser(link, path, desk, logger);
  await waitFor(() => log.some((line) => line.includes('failed to open the browser')));
});

function readOrNothing(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
