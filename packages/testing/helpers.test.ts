import { existsSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { type Child, startChild } from './child.ts';
import { temporaryDirectory, temporaryHome } from './directory.ts';
import { freePort } from './network.ts';
import { waitFor } from './wait.ts';

const directory = temporaryDirectory();
const children: Child[] = [];
afterAll(async () => {
  await Promise.all(children.map((child) => child.kill()));
  directory.remove();
});

function run(source: string, options: Parameters<typeof startChild>[1] = {}): Child {
  const path = join(directory.path, `child-${children.length}.ts`);
  writeFileSync(path, source);
  const child = startChild(path, options);
  children.push(child);
  return child;
}

it('finds ports that can be listened on, no two alike, and none that another process has chosen', async () => {
  const network = JSON.stringify(new URL('./network.ts', import.meta.url).href);
  const child = run(`
    import { freePort } from ${network};
    const ports = await Promise.all(Array.from({ length: 200 }, freePort));
    console.log('ports ' + JSON.stringify(ports));
    setInterval(() => undefined, 1000);
  `);
  const line = await child.waitForLine('ports ');
  const elsewhere: number[] = JSON.parse(line.slice('ports '.length));
  const here = await Promise.all(Array.from({ length: 200 }, freePort));
  expect(new Set([...elsewhere, ...here]).size).toBe(400);
  const server = createServer().listen(here[0], '127.0.0.1');
  await waitFor(() => server.listening);
  await new Promise((resolve) => server.close(resolve));
});

it('makes a directory and removes it with what it holds', () => {
  const other = temporaryDirectory();
  writeFileSync(join(other.path, 'file'), 'text');
  other.remove();
  other.remove();
  expect(existsSync(other.path)).toBe(false);
});

it('gives a home that a child process lives in', async () => {
  const home = temporaryHome();
  const child = run('console.log(process.env.TRUNKLINE_HOME);', { environment: home.environment });
  expect(await child.waitForLine('trunkline')).toBe(join(home.path, '.trunkline'));
  home.remove();
});

it('runs TypeScript with arguments and input, and tells how it ended', async () => {
  const child = run(
    `const word: string = process.argv[2];
     process.stdin.once('data', (data) => { console.error(word + data); process.exit(3); });`,
    { arguments: ['echo '] },
  );
  child.write('hello\n');
  expect(await child.waitForLine(/^echo h/)).toBe('echo hello');
  expect(await child.exited).toEqual({ code: 3, signal: null });
});

it('kills a child at once', async () => {
  const child = run("process.on('SIGTERM', () => {}); setInterval(() => {}, 1000); console.log('up');");
  await child.waitForLine('up');
  expect(await child.kill()).toEqual({ code: null, signal: 'SIGKILL' });
});

it('reports what a child wrote when the awaited line never comes', async () => {
  const child = run("console.log('something else');");
  await expect(child.waitForLine('awaited')).rejects.toThrow(
    /ended without a line with awaited.*something else/s,
  );
});

it('waits until a condition holds, and returns its value', async () => {
  let asked = 0;
  const value = await waitFor(() => {
    asked += 1;
    if (asked === 1) throw new Error('not yet');
    return asked > 2 ? `asked ${asked}` : undefined;
  });
  expect(value).toBe('asked 3');
});

it('gives up on a condition with its last error as cause', async () => {
  const never = () => {
    throw new Error('still closed');
  };
  await expect(waitFor(never, { timeoutMs: 20 })).rejects.toMatchObject({
    cause: { message: 'still closed' },
  });
});
