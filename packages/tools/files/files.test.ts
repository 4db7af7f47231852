import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { mkdir, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { CallSubject } from '@trunkline/llm';
import { createSandbox, endAbandonedProcesses, findIsolation } from '@trunkline/sandbox';
import { temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ApprovedTool, answerApproval, approvalText } from '../approval/approved-tool.ts';
import { callTool } from '../call-tool.suite.ts';
import { fileTools } from './file-tools.ts';
import { createRunCommand } from './run-command.ts';

let home = temporaryDirectory();
let root = '';
let outside = '';
const call = (name: string, input: object = {}) =>
  callTool(fileTools(root).find((tool) => tool.name === name)!, input);

beforeEach(() => {
  home = temporaryDirectory();
  root = join(home.path, 'workspace');
  outside = join(home.path, 'outside');
  for (const path of [root, outside, join(root, 'src')]) mkdirSync(path);
  writeFileSync(join(outside, 'secret.txt'), 'SECRET');
  writeFileSync(join(root, 'src', 'a.ts'), 'const one = 1;\nconst two = 2;\n');
});
afterEach(() => home.remove());

describe('the file tools', () => {
  it('list, write, read, find, search and edit in the workspace [A033]', async () => {
    expect(await call('write_file', { path: 'docs/deep/note.md', content: 'Hello\nWorld' })).toBe(
      'Wrote 11 characters to docs/deep/note.md.',
    );
    expect(await call('list_dir')).toBe('docs/\nsrc/');
    expect(await call('read_file', { path: 'docs/deep/note.md' })).toBe('Hello\nWorld');
    expect(await call('read_file', { path: 'src/a.ts', start_line: 2, max_lines: 1 })).toBe(
      'const two = 2;\n…[1 more lines]',
    );
    expect(await call('find_files', { pattern: '*.ts' })).toBe('src/a.ts');
    expect(await call('find_files', { pattern: 'docs/**/*.md' })).toBe('docs/deep/note.md');
    expect(await call('find_files', { pattern: '*.js' })).toBe('No files.');
    expect(await call('search_files', { query: 'TWO' })).toBe('src/a.ts:2: const two = 2;');
    expect(await call('edit_file', { path: 'src/a.ts', old_text: 'one = 1', new_text: "one = '$&'" })).toBe(
      'Edited src/a.ts.',
    );
    expect(readFileSync(join(root, 'src', 'a.ts'), 'utf8')).toContain("const one = '$&';");
    expect(await call('edit_file', { path: 'src/a.ts', old_text: 'const', new_text: 'let' })).toMatch(
      /^Error: the text stands 2 times/,
    );
    expect(await call('read_file', { path: 'none.txt' })).toBe('Error: there is no none.txt.');
    expect(await call('read_file', { path: 'src' })).toMatch(/^Error: src is (a directory|not a file)\./);
    expect(readdirSync(root).sort()).toEqual(['docs', 'src']);
  });

  it.each([
    ['./src//a.ts', 'src/a.ts'],
    ['../workspace/src/a.ts', 'src/a.ts'],
    ['x/../../workspace/src', 'src'],
    ['src/', 'src'],
    ['.', '.'],
    ['', '.'],
    ['inner/a.ts', 'src/a.ts'],
    ['new/file', 'new/file'],
    ['../outside/x', '../../outside/x'],
    ['/etc/passwd', '..//etc/passwd'],
    ['out/x', '../out/x'],
  ])('name to policy for %s the path %s', (given, path) => {
    symlinkSync(join(root, 'src'), join(root, 'inner'));
    symlinkSync(outside, join(root, 'out'));
    for (const tool of fileTools(root)) expect(tool.subject?.({ path: given })).toEqual({ path });
  });

  it.each(['.', 'src', '../workspace'])('leave out what policy holds back below %s', async (path) => {
    mkdirSync(join(root, 'src', 'keys'));
    writeFileSync(join(root, 'src', 'keys', 'one'), 'const key');
    writeFileSync(join(root, 'src', 'b.ts'), 'const b');
    const permits = ({ path }: CallSubject) => path !== 'src/keys' && path !== 'src/b.ts';
    for (const [name, input] of [
      ['search_files', { query: 'const', path }],
      ['find_files', { pattern: '*', path }],
    ] as const) {
      const tool = fileTools(root).find((each) => each.name === name)!;
      const found = await callTool(tool, input, undefined, { permits });
      expect(found).toContain('src/a.ts');
      expect(found).not.toMatch(/keys|b\.ts/);
    }
  });

  it.each([
    '../outside/secret.txt',
    'src/../../outside/secret.txt',
    '/etc/passwd',
    '..',
    '..\\outside\\secret.txt',
    'C:\\secret.txt',
    'link/secret.txt',
    'file-link',
    'src/inner/../../../outside/secret.txt',
    'a\0b',
    'dangling',
  ])('refuse the way out by %s', async (path) => {
    symlinkSync(outside, join(root, 'link'));
    symlinkSync(join(outside, 'secret.txt'), join(root, 'file-link'));
    symlinkSync(join(outside, 'new.txt'), join(root, 'dangling'));
    for (const [name, input] of [
      ['read_file', { path }],
      ['write_file', { path, content: 'x' }],
      ['edit_file', { path, old_text: 'SECRET', new_text: 'x' }],
      ['list_dir', { path }],
      ['find_files', { path, pattern: '*' }],
      ['search_files', { path, query: 'SECRET' }],
    ] as const) {
      expect(await call(name, input), name).toMatch(/^Error: /);
    }
    expect(readdirSync(outside)).toEqual(['secret.txt']);
    expect(readFileSync(join(outside, 'secret.txt'), 'utf8')).toBe('SECRET');
  });

  it('take a name in another case for another name: neither a twin beside the workspace nor a link is a way out', async () => {
    const twin = join(home.path, 'WORKSPACE');
    mkdirSync(twin, { recursive: true });
    writeFileSync(join(twin, 'secret.txt'), 'SECRET');
    symlinkSync(outside, join(root, 'LINK'));
    mkdirSync(join(root, 'link'), { recursive: true });
    const ways = [
      '../WORKSPACE/secret.txt',
      join(twin, 'secret.txt'),
      'LINK/secret.txt',
      'src/../LINK/secret.txt',
    ];
    for (const path of ways) {
      expect(await call('read_file', { path }), path).toMatch(/^Error: /);
      expect(await call('write_file', { path, content: 'changed' }), path).toMatch(/^Error: /);
    }
    expect(await call('read_file', { path: 'SRC/a.ts' })).toMatch(/^Error: /);
    await call('write_file', { path: 'SRC/a.ts', content: 'other' });
    expect(readFileSync(join(root, 'SRC', 'a.ts'), 'utf8')).toBe('other');
    expect(readFileSync(join(root, 'src', 'a.ts'), 'utf8')).toContain('const one');
    expect([twin, outside].map((folder) => readFileSync(join(folder, 'secret.txt'), 'utf8'))).toEqual([
      'SECRET',
      'SECRET',
    ]);
  });

  it('follow links that stay inside, and see none that lead out when they walk', async () => {
    symlinkSync(join(root, 'src'), join(root, 'alias'));
    symlinkSync(outside, join(root, 'link'));
    expect(await call('read_file', { path: 'alias/a.ts', max_lines: 1 })).toContain('const one');
    expect(await call('search_files', { query: 'SECRET' })).toBe('No matches.');
    expect(await call('find_files', { pattern: '*.txt' })).toBe('No files.');
  });

  it('cannot be outrun by a directory that turns into a link and back', async () => {
    const place = join(root, 'flip');
    const spare = join(root, 'spare');
    mkdirSync(place);
    writeFileSync(join(place, 'secret.txt'), 'inside');
    let running = true;
    /** A write may have made the directory anew in the moment when it was missing. */
    const insist = async (work: () => Promise<void>) => {
      for (let done = false; !done; ) {
        done = await rm(place, { recursive: true, force: true })
          .then(work)
          .then(
            () => true,
            () => false,
          );
      }
    };
    const flipping = (async () => {
      while (running) {
        await rename(place, spare);
        await insist(() => symlink(outside, place));
        await insist(() => rename(spare, place));
      }
    })();
    for (let round = 0; round < 300; round += 1) {
      const [read] = await Promise.all([
        call('read_file', { path: 'flip/secret.txt' }),
        call('write_file', { path: `flip/new${round % 5}.txt`, content: 'x' }),
      ]);
      expect(read).not.toContain('SECRET');
    }
    running = false;
    await flipping;
    expect(readdirSync(outside)).toEqual(['secret.txt']);
  });

  it('do not hang on a pipe or read what is not text or too large', async () => {
    await mkdir(join(root, 'big'));
    writeFileSync(join(root, 'big', 'huge.txt'), 'x'.repeat(2 * 1024 * 1024 + 1));
    writeFileSync(join(root, 'big', 'data.bin'), Buffer.from([1, 0, 2]));
    expect(await call('read_file', { path: 'big/huge.txt' })).toMatch(/^Error: .*larger than/);
    expect(await call('read_file', { path: 'big/data.bin' })).toMatch(/^Error: .*not a text file/);
    const fifo = createRunCommand({
      ...{ directory: root, path: '/usr/bin:/bin' },
      sandbox: createSandbox({ mode: 'off' }),
    });
    await allow(fifo, 'mkfifo pipe');
    expect(await call('read_file', { path: 'pipe' })).toMatch(/^Error: pipe is not a file/);
  });

  it('find by a pattern of many wildcards without trying every way through it', async () => {
    const name = 'a'.repeat(250);
    await call('write_file', { path: `deep/${'d/'.repeat(100)}${name}`, content: 'x' });
    expect(await call('find_files', { pattern: `${'*a'.repeat(30)}*b` })).toBe('No files.');
    expect(await call('find_files', { pattern: `${'**/'.repeat(30)}b` })).toBe('No files.');
    expect(await call('find_files', { pattern: `**/${'*a'.repeat(30)}*` })).toContain(name);
  });

  it.each([
    ['*.ts', 'top.ts src/a.ts src/sub/b.ts'],
    ['src/*.ts', 'src/a.ts'],
    ['./src/*.ts', 'src/a.ts'],
    ['src/**', 'src/a.ts src/sub/b.ts'],
    ['**/sub/?.ts', 'src/sub/b.ts'],
    ['s*/**/b.ts', 'src/sub/b.ts'],
    ['src?a.ts', 'No files.'],
  ])('find %s wherever the walk begins', async (pattern, found) => {
    for (const path of ['top.ts', 'src/sub/b.ts']) await call('write_file', { path, content: '' });
    for (const path of ['.', './'])
      expect(await call('find_files', { pattern, path })).toBe(found.replace(/ (?!f)/g, '\n'));
  });

  it('edit no file whose bytes would be lost, and leave a program executable', async () => {
    const latin = Buffer.from('caf\xe9\nx\n', 'latin1');
    writeFileSync(join(root, 'latin.txt'), latin);
    writeFileSync(join(root, 'run.sh'), '#!/bin/sh\necho one\n', { mode: 0o755 });
    expect(await call('edit_file', { path: 'latin.txt', old_text: 'x', new_text: 'y' })).toMatch(
      /^Error: latin.txt is not text in UTF-8/,
    );
    expect(readFileSync(join(root, 'latin.txt'))).toEqual(latin);
    await call('edit_file', { path: 'run.sh', old_text: 'one', new_text: 'two' });
    expect(statSync(join(root, 'run.sh')).mode & 0o777).toBe(0o755);
  });

  it('work when the workspace itself is a link', async () => {
    const real = join(home.path, 'real');
    renameSync(root, real);
    symlinkSync(real, root);
    expect(await call('list_dir')).toBe('src/');
    rmSync(root);
  });
});

const isolation = await findIsolation();
const withoutSandbox = isolation.kind === 'none' ? ` (skipped: ${isolation.reason})` : '';

describe.each([
  { place: 'run_command without a sandbox', mode: 'off' as const, more: 'TRUNKLINE_COMMAND\n', skip: false },
  {
    place: `run_command in a sandbox${withoutSandbox}`,
    mode: 'require' as const,
    more: '',
    skip: withoutSandbox !== '',
  },
])('$place', ({ mode, more, skip }) => {
  const sandbox = createSandbox({ mode });
  beforeEach(({ skip: skipTest }) => skipTest(skip, withoutSandbox));

  // Making a sandbox takes its time on a busy machine.
  const answer = (command: string, words: string, timeoutMs = 20_000) =>
    allow(createRunCommand({ directory: root, path: '/usr/bin:/bin', timeoutMs, sandbox }), command, words);

  it('waits for an approval and runs only after a yes', async () => {
    const { tool, subject } = createRunCommand({ directory: root, path: '', sandbox });
    expect(tool.pause).toBe(true);
    expect(approvalText((await subject({ command: 'rm -rf x' }))!)).toContain('rm -rf x');
    expect(await answer('echo hi; pwd', 'Yes.')).toBe(`hi\n${root}\n`);
    expect(await answer('touch made', 'no')).toMatch(/^Error: the person did not approve/);
    for (const words of ['yes, but not now', 'yesterday', ''])
      expect(await answer('touch made', words)).toMatch(/^Error: it was not approved/);
    expect(readdirSync(root)).toEqual(['src']);
  });

  it('says how it ended, hands on no environment and stops all it started', async () => {
    expect(await answer('echo oops >&2; exit 3', 'ok')).toBe('Error: exit code 3\noops\n');
    expect(await answer('env | cut -d= -f1 | sort', 'ok')).toBe(`HOME\nLANG\nPATH\nPWD\n${more}`);
    expect(await answer('(sleep 60 & echo started; wait)', 'ok', 2000)).toBe(
      'Error: the command took longer than 2 s and was stopped.\nstarted\n',
    );
    expect((await answer('yes | head -c 100000', 'ok'))?.length).toBeLessThan(21_000);
  });

  it('says that there is no network where a command fails for want of it', async () => {
    const note =
      '[commands run in a sandbox without network; TRUNKLINE_SANDBOX_HOSTS lists hosts they may reach]';
    const failing = (await answer('curl -sS http://nowhere.invalid/', 'ok')) ?? '';
    expect(failing).toMatch(/^Error: exit code 6\n/);
    expect(failing.includes(note)).toBe(mode === 'require');
    expect(await answer('echo "Could not resolve host"', 'ok')).toBe('Could not resolve host\n');
  });

  it('leaves nothing behind, wherever it went: at its limit, when it is stopped and when it has ended', async () => {
    // Process ids in a sandbox are not those out here; the length of the sleep tells these processes from others.
    const sleep = `sleep 60.${process.pid}${mode.length}`;
    const away = `setsid sh -c 'echo $$ >> pids; ${sleep}' & (setsid sh -c 'echo $$ >> pids; ${sleep}' &)`;
    const started = () => readFileSync(join(root, 'pids'), 'utf8').match(/\d+/g)?.length;
    const noneIsLeft = () => waitFor(() => !isRunning(sleep));
    writeFileSync(join(root, 'pids'), '');
    const bothThere = 'until [ "$(wc -l < pids)" -eq 2 ]; do sleep 0.01; done';
    expect(await answer(`${away}; wait`, 'ok', 500)).toMatch(/^Error: the command took longer than 0.5 s/);
    await noneIsLeft();
    writeFileSync(join(root, 'pids'), '');
    const stopped = new AbortController();
    const tool = createRunCommand({ directory: root, path: '/usr/bin:/bin', sandbox });
    const running = allow(tool, `${away}; wait`, 'yes', stopped.signal);
    await waitFor(() => started() === 2 && isRunning(sleep));
    stopped.abort();
    expect(await running).toBe('Error: the command was stopped with the task.\n');
    await noneIsLeft();
    writeFileSync(join(root, 'pids'), '');
    expect(await answer(`(${away}) > /dev/null 2>&1; ${bothThere}; echo done`, 'ok')).toBe('done\n');
    await noneIsLeft();
  });

  it('spares commands of others that run at the same time', async () => {
    const long = answer('touch there; until [ -e go ]; do sleep 0.01; done; echo whole', 'ok');
    await waitFor(() => existsSync(join(root, 'there')));
    expect(await answer('sleep 60', 'ok', 200)).toMatch(/^Error: the command took longer/);
    expect(await answer('true', 'ok')).toBe('(no output)');
    await endAbandonedProcesses();
    writeFileSync(join(root, 'go'), '');
    expect(await long).toBe('whole\n');
  });
});

/** Asks for an approval and answers it. */
async function allow(
  tool: ApprovedTool,
  command: string,
  words = 'yes',
  signal = new AbortController().signal,
): Promise<string> {
  const subject = (await tool.subject({ command }))!;
  return answerApproval(tool, { command }, words, { subject, signal, sessionId: 's', toolCallId: 'c' });
}

/** Whether a process has these words in its command line. */
function isRunning(words: string): boolean {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .some((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
        return line.slice(0, 2).join(' ') === words;
      } catch {
        // It has ended meanwhile.
        return false;
      }
    });
}
