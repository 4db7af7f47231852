import {
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findIsolation } from './availability.ts';
import { outcomeOf, shellScript } from './sandbox.suite.ts';
import { createSandbox, type SandboxOptions, type SandboxRequest } from './sandbox.ts';

const isolation = await findIsolation();
const missing = isolation.kind === 'none' ? isolation.reason : '';
const SECRET = 'key-that-nobody-may-read';

let home = temporaryDirectory();
let data: string;
let workspace: string;
let outside: string;
beforeEach(({ skip }) => {
  skip(missing !== '', missing);
  home = temporaryDirectory();
  data = join(home.path, 'data');
  workspace = join(data, 'agent', 'workspace');
  outside = join(home.path, 'outside');
  for (const folder of [workspace, join(data, 'agent', 'config'), outside])
    mkdirSync(folder, { recursive: true });
  writeFileSync(join(data, 'agent', 'config', 'secret'), SECRET);
  writeFileSync(join(outside, 'secret'), SECRET);
});
afterEach(() => home.remove());

const open = (more: Partial<SandboxOptions> = {}) =>
  createSandbox({ mode: 'require', hidden: [data], workspaces: [workspace], ...more });

const run = async (
  script: string,
  folder: string,
  more: Partial<SandboxRequest> = {},
  sandbox = open(),
): Promise<string> => (await outcomeOf(await sandbox.start(shellScript(script, folder, more)))).output;

describe(`folders of the sandbox${missing && ` (skipped: ${missing})`}`, () => {
  it.each(['config', 'outside'])('a link that a program planted leads no other one to %s', async (name) => {
    const target = name === 'config' ? join(data, 'agent', 'config') : outside;
    const repo = join(workspace, 'repo');
    await run(`ln -s ${target} repo; ln -s ${target}/secret server.js`, workspace);
    const refusal = /repo leads to .*, out of .*workspace, where programs may have planted a link/;
    await expect(run('cat secret', repo)).rejects.toThrow(refusal);
    await expect(run('cat secret', workspace, { readOnly: [repo] })).rejects.toThrow(refusal);
    await expect(run('cat secret', workspace, { writable: [join(repo, '.')] })).rejects.toThrow(refusal);
    await expect(run('cat secret', workspace, { cwd: repo })).rejects.toThrow(refusal);
    const server = { showsArguments: true, args: ['-c', 'cat server.js', join(workspace, 'server.js')] };
    await expect(run('', workspace, server)).rejects.toThrow(/server.js leads to/);
  });

  it('remembers what programs could change, and the homes that it gives them', async () => {
    const homes = join(home.path, 'homes');
    const project = join(home.path, 'project');
    mkdirSync(project);
    const sandbox = open({ workspaces: [], homes });
    await run(`ln -s ${outside} sub`, project, {}, sandbox);
    await expect(run('cat secret', join(project, 'sub'), {}, sandbox)).rejects.toThrow(/sub leads to/);
    await run(`ln -s ${outside} $HOME/sub`, project, { name: 'one', env: {} }, sandbox);
    const later = open({ workspaces: [], homes });
    await expect(run('', join(homes, 'one', 'sub'), {}, later)).rejects.toThrow(/sub leads to/);
  });

  it('a link of the operator leads where it leads, but not into what is hidden', async () => {
    const link = join(home.path, 'link');
    symlinkSync(outside, link);
    expect(await run('cat secret', link)).toBe(SECRET);
    unlinkSync(link);
    symlinkSync(join(data, 'agent', 'config'), link);
    await expect(run('cat secret', link)).rejects.toThrow(/link leads to .*config, which the sandbox hides/);
    expect(await run('cat secret', join(data, 'agent', 'config'), {}, open({ workspaces: [] }))).toBe(SECRET);
  });

  it('covers what is hidden on every path: through a link, and in the folders of the system', async () => {
    const link = join(home.path, 'link');
    symlinkSync(outside, link);
    const sandbox = open({ hidden: [join(outside, 'secret')] });
    const script = `cat ${link}/secret ${outside}/secret; echo end`;
    const output = await run(script, link, {}, sandbox);
    expect(output).not.toContain(SECRET);
    expect(output).toMatch(/end\n$/);
    const system = open({ hidden: [realpathSync('/usr/bin/env'), '/usr/share'] });
    expect(await run('/usr/bin/env; ls /usr/share; echo end', workspace, {}, system)).toMatch(
      /denied\nend\n$/,
    );
  });

  it('keeps what is hidden hidden at the next start, although its parents may be changed', async () => {
    const project = join(home.path, 'project');
    mkdirSync(join(project, 'a', 'b', 'keys'), { recursive: true });
    writeFileSync(join(project, 'a', 'b', 'keys', 'secret'), SECRET);
    const sandbox = open({ hidden: [join(project, 'a', 'b', 'keys')] });
    const first = await run('mv a c; mv a/b a/c; touch a/new a/b/new && echo written', project, {}, sandbox);
    expect(first).toContain('busy');
    expect(first).toContain('written');
    expect(readdirSync(project)).toEqual(['a']);
    expect(await run('cat */*/*/secret */*/secret', project, {}, sandbox)).not.toContain(SECRET);
  });

  it('a covered folder takes nothing in', async () => {
    const script = `chmod 700 ${data}; echo x > ${data}/file && echo WROTE; ls -A ${data}; echo made > file; cat file`;
    const output = await run(script, workspace, { writable: [home.path, workspace] });
    expect(output).not.toContain('WROTE');
    expect(output).toContain('Read-only file system');
    expect(output).toMatch(/agent\nmade\n$/);
  });

  it('gives every program a home of its own, whatever its name becomes as a folder', async () => {
    const sandbox = open({ homes: join(home.path, 'homes') });
    const write = (name: string, kind?: 'mcp') =>
      run(
        'echo x >> $HOME/file; wc -l < $HOME/file',
        workspace,
        { name, env: {}, ...(kind && { kind }) },
        sandbox,
      );
    const names = ['cödex', 'cüdex', 'c_dex', 'codex', '../codex', 'x'.repeat(101), 'x'.repeat(102)];
    for (const name of names) expect(await write(name), name).toBe('1\n');
    expect(await write('codex', 'mcp')).toBe('1\n');
    expect(await write('codex')).toBe('2\n');
    const folders = readdirSync(join(home.path, 'homes'));
    expect(folders).toHaveLength(names.length + 1);
    expect(folders).toEqual(expect.arrayContaining(['codex', 'mcp.codex', 'c_dex']));
  });

  it('shows the programs of PATH and what they need, not the project around them', async () => {
    const project = join(home.path, 'project');
    const bins = ['node_modules/.bin', 'packages/one/node_modules/.bin', '.venv/bin', 'bin'];
    const files = [
      'package.json',
      '.npmrc',
      '.git/config',
      'node_modules/tool/run',
      '.venv/pyvenv.cfg',
      'lib/code',
    ];
    for (const file of [...files, ...bins.map((bin, index) => `${bin}/program${index}`)]) {
      mkdirSync(join(project, file, '..'), { recursive: true });
      writeFileSync(join(project, file), `#!/bin/sh\necho ${SECRET}`, { mode: 0o755 });
    }
    const PATH = [...bins.map((bin) => join(project, bin)), '/usr/bin', '/bin'].join(':');
    const count = 'for i in 0 1 2 3; do program$i; done | wc -l';
    const more = `ls ${project}/node_modules/tool ${project}/lib ${project}/.venv`;
    const output = await run(
      `${count}; ${more}; cd ${project} && cat .npmrc .git/config package.json`,
      workspace,
      {
        env: { PATH },
      },
    );
    expect(output).toMatch(/^4\n/);
    for (const name of ['run', 'code', 'pyvenv.cfg']) expect(output).toContain(`${name}\n`);
    expect(output).not.toContain(SECRET);
    expect(output.match(/No such file/g)).toHaveLength(3);
  });

  it('names a folder that is not there', async () => {
    const gone = join(home.path, 'gone');
    await expect(run(':', gone)).rejects.toThrow(`${gone} does not exist`);
    await expect(run(':', workspace, { writable: [gone] })).rejects.toThrow(`${gone} does not exist`);
    expect(await run('echo ran', workspace, { readOnly: [gone] })).toBe('ran\n');
    expect(existsSync(gone)).toBe(false);
  });
});
