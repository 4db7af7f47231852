import { execFileSync, spawnSync } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { startChild } from '@trunkline/testing';
import { describe, expect, it } from 'vitest';
import { createLogger, type LoggerSettings } from '../index.ts';

function capture(settings: Partial<LoggerSettings> = {}) {
  const written: string[] = [];
  const destination = { write: (text: string) => written.push(text) };
  const logger = createLogger({ name: 'voice', destination, ...settings });
  const lines = () => written.map((line) => JSON.parse(line) as Record<string, unknown>);
  return { logger, written, lines, text: () => written.join('') };
}

describe('lines of JSON', () => {
  it('follow a changed level, with the children made since', () => {
    const { logger, lines } = capture({ level: 'WARNING' });
    logger.info('before');
    logger.setLevel?.('DEBUG');
    logger.child({ service: 'voice' }).debug('after');
    expect(lines().map(({ msg }) => msg)).toEqual(['after']);
  });

  it('hold time, level, name, message and fields', () => {
    const { logger, lines, text } = capture();
    logger.info({ port: 7866 }, 'Listening');
    expect(lines()).toEqual([
      { level: 'info', time: expect.any(String), name: 'voice', port: 7866, msg: 'Listening' },
    ]);
    expect(new Date(String(lines()[0]?.time)).toISOString()).toBe(lines()[0]?.time);
    expect(text()).toMatch(/^\{.*\}\n$/);
  });

  it.each([
    ['DEBUG', ['debug', 'info', 'warning', 'error']],
    ['INFO', ['info', 'warning', 'error']],
    ['WARNING', ['warning', 'error']],
    ['ERROR', ['error']],
  ] as const)('come from %s upwards', (level, expected) => {
    const { logger, lines } = capture({ level });
    for (const method of ['debug', 'info', 'warn', 'error'] as const) logger[method]('x');
    expect(lines().map((line) => line.level)).toEqual(expected);
  });

  it('carry the fields of a child and of its child', () => {
    const { logger, lines } = capture({ secrets: ['sekret-1'] });
    logger.child({ user: 'ada', token: 'x' }).child({ turn: 'sekret-1' }).warn('hm');
    expect(lines()).toMatchObject([
      { name: 'voice', user: 'ada', token: '[redacted]', turn: '[redacted]', msg: 'hm' },
    ]);
  });

  it('keep their own fields apart from those of the same name', () => {
    const { logger, written } = capture();
    logger.info({ name: 'tool', level: 'x', time: 1, msg: 'other' }, 'real');
    expect(JSON.parse(written[0] ?? '')).toMatchObject({
      name: 'voice',
      name_: 'tool',
      level_: 'x',
      time_: 1,
      msg: 'real',
    });
    expect(written[0]?.match(/"name":/g)).toHaveLength(1);
  });

  it('take an error as the first argument, and percent signs as they are', () => {
    const { logger, lines } = capture();
    logger.error(new Error('broke'));
    logger.error(new Error('broke'), 'Saving failed');
    logger.info('100 %s %d %%');
    logger.info({ only: 'fields' });
    expect(lines()).toMatchObject([
      { err: { message: 'broke' }, msg: 'broke' },
      { err: { message: 'broke', stack: expect.stringContaining('logger.test.ts') }, msg: 'Saving failed' },
      { msg: '100 %s %d %%' },
      { only: 'fields' },
    ]);
  });
});

describe('secrets', () => {
  it('reach no line by message, field, error, cause, stack or address', () => {
    const { logger, text, lines } = capture({ secrets: ['sekret-1', 'sekret-1-long', 'pass/word'] });
    const cause = new Error('cause sekret-1-long', { cause: new Error('root sekret-1') });
    logger.info('message sekret-1');
    logger.info({ deep: [{ text: 'x sekret-1-long' }], headers: { Authorization: 'Bearer abc' } }, 'fields');
    logger.error({ err: new Error('error sekret-1', { cause }) }, 'failed');
    logger.warn(
      { url: 'nats://me:hunter2@host', address: new URL('https://h/?q=pass%2Fword') },
      'at http://me:hunter2@host',
    );
    expect(text()).not.toMatch(/sekret|hunter2|abc|pass.{0,3}word/);
    expect(lines()[2]).toMatchObject({
      err: { cause: { message: 'cause [redacted]', cause: { message: 'root [redacted]' } } },
    });
  });

  it('leave whole lines when they look like parts of one', () => {
    const { logger, lines } = capture({ secrets: ['info', 'voice', 'level', '"msg"', 'nabc', '\\'] });
    logger.info({ number: 30, text: 'line\nabc \\ "msg"' }, 'voice level');
    expect(lines()).toEqual([
      expect.objectContaining({
        level: 'info',
        name: 'voice',
        number: 30,
        text: 'line\nabc \\ [redacted]',
        msg: '[redacted] [redacted]',
      }),
    ]);
  });

  it('are hidden from the moment they are known', () => {
    const secrets = new Set<string>();
    const { logger, lines } = capture({ secrets });
    const child = logger.child({ part: 'peer' });
    secrets.add('late-secret');
    child.info({ sent: 'late-secret' }, 'late-secret');
    expect(lines()).toMatchObject([{ sent: '[redacted]', msg: '[redacted]' }]);
  });
});

describe('lines for people', () => {
  // Colours depend on the environment; a test with a real terminal looks at them.
  const plain = stripVTControlCharacters;

  it('are aligned, with fields after the message', () => {
    const { logger, text } = capture({ pretty: true });
    logger.info({ port: 7866, url: 'http://h:1/x', words: 'two words', list: [1] }, 'Listening');
    logger.warn('Careful');
    const [first, second] = plain(text()).split('\n');
    expect(first).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} INFO {4}voice {8}Listening port=7866 url=http:\/\/h:1\/x words="two words" list=\[1\]$/,
    );
    expect(second).toMatch(/^\d\d:\d\d:\d\d\.\d{3} WARNING voice {8}Careful$/);
  });

  it('put stacks below, indented, causes further in', () => {
    const { logger, text } = capture({ pretty: true, secrets: ['sekret-1'] });
    const cause = Object.assign(new TypeError('deep sekret-1'), { code: 'E_DEEP' });
    logger.error({ err: new Error('outer', { cause }), task: 5 }, 'Failed');
    const lines = plain(text()).trimEnd().split('\n');
    expect(lines[0]).toMatch(/ERROR {3}voice {8}Failed task=5$/);
    expect(lines[1]).toBe('    err: Error: outer');
    expect(lines[2]).toMatch(/^ {8}at .*logger\.test\.ts/);
    const inner = lines.indexOf('      caused by: TypeError: deep [redacted]');
    expect(inner).toBeGreaterThan(2);
    expect(lines).toContain('        code=E_DEEP');
    expect(lines.slice(1).every((line) => line.startsWith('    '))).toBe(true);
  });

  it('show errors inside an error', () => {
    const { logger, text } = capture({ pretty: true });
    logger.error({ err: new AggregateError([new Error('one'), new Error('two')], 'both') }, 'Failed');
    expect(plain(text())).toMatch(/one of: Error: one[\s\S]*one of: Error: two/);
  });

  it('let nobody steer the terminal or forge a line', () => {
    const { logger, written } = capture({ pretty: true });
    logger.info({ user: 'a\u001b[2Jb', 'k\ney': 'c\u009bd' }, 'one\nERROR two\u001b[31m');
    const line = plain(written.join(''));
    expect(line).toContain('one\\nERROR two\\u001b[31m user="a\\u001b[2Jb" k\\ney="c\\u009bd"\n');
    expect(line.trimEnd()).not.toMatch(/\p{Cc}/u);
  });
});

it('hides in answers what strangers did not bring and what is no ordinary word', () => {
  const secrets = new Set(['sunshine7', 'ollama', 'a"quote/d']);
  const { hide = (text) => text } = capture({ secrets }).logger.child({ request: 1 });
  expect(hide('ollama says: sunshine7', '/v1')).toBe('ollama says: [redacted]');
  expect(hide('nothing at /sunshine7', 'GET /sunshine7')).toBe('nothing at /sunshine7');
  expect(hide('a"quote/d', '/a%22quote%2Fd')).toBe('a"quote/d');
});

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
