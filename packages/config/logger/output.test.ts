import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { startChild } from '@trunkline/testing';
import { describe, expect, it } from 'vitest';

const SCRIPT = fileURLToPath(new URL('./fixtures/talk.ts', import.meta.url));
// Takes no byte, as a disk without room.
const FULL_DISK = '/dev/full';
// Gives a program a real terminal to write to.
const TERMINAL = '/usr/bin/script';

describe('standard output', () => {
  it('gets lines of JSON through a pipe, all of them before the process ends', async () => {
    const child = startChild(SCRIPT);
    expect(await child.exited).toEqual({ code: 0, signal: null });
    const lines = child
      .output()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toMatchObject([
      { level: 'info', name: 'fixture', port: 1, note: '[redacted]', msg: 'Hello' },
      {
        level: 'error',
        err: { message: 'broke [redacted]', cause: { message: 'why [redacted]' } },
        msg: 'Failed',
      },
    ]);
    expect(child.output()).not.toContain('sekret-1');
  });

  it.skipIf(!existsSync(FULL_DISK))('may be on a full disk: the program goes on', () => {
    const full = openSync(FULL_DISK, 'w');
    const { status, stderr } = spawnSync(process.execPath, [SCRIPT], {
      stdio: ['ignore', full, 'pipe'],
      encoding: 'utf8',
    });
    closeSync(full);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  it.skipIf(!existsSync(TERMINAL))('gets coloured lines on a terminal', () => {
    const text = onTerminal({ TERM: 'xterm' });
    expect(stripVTControlCharacters(text)).toMatch(/^\d\d:\d\d:\d\d\.\d{3} INFO {4}fixture {6}Hello port=1/);
    expect(text).toContain('\u001b[32mINFO   \u001b[39m \u001b[36mfixture');
    expect(text).toContain('\u001b[31mERROR');
    expect(text).not.toContain('sekret-1');
  });

  it.skipIf(!existsSync(TERMINAL))('gets no colours where NO_COLOR is set or the terminal has none', () => {
    for (const environment of [{ TERM: 'xterm', NO_COLOR: '1' }, { TERM: 'dumb' }]) {
      const text = onTerminal(environment);
      expect(text).toMatch(/^\d\d:\d\d:\d\d\.\d{3} INFO {4}fixture {6}Hello port=1 note=\[redacted\]\r?\n/);
      expect(text).not.toContain('\u001b');
    }
  });
});

function onTerminal(environment: Record<string, string>): string {
  const command = `'${process.execPath}' '${SCRIPT}'`;
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, ...environment };
  return execFileSync(TERMINAL, ['-qec', command, '/dev/null'], {
    env,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}
