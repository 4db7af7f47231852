// A recording command line stands for podman here; containers themselves are not run in this suite.
import { chmodSync, mkdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { probe } from './availability.ts';
import { outcomeOf, shellScript } from './sandbox.suite.ts';
import { createSandbox } from './sandbox.ts';

/** Takes the flags of `run` for granted, and runs what stands behind the image, as the image would. */
const podman = (log: string) => `#!/bin/sh
printf '%s\\n' "$@" >> ${log}
echo -- >> ${log}
[ "$1" = image ] && { [ "$3" = here ] || { echo "no such image" >&2; exit 125; }; exit 0; }
[ "$1" = run ] || exit 0
for word in "$@"; do case "$word" in --env-file=*) cat "\${word#--env-file=}" >> ${log};; esac; done
while [ "$1" != here ]; do shift; done
shift
exec "$@"
`;

function start() {
  const directory = temporaryDirectory();
  onTestFinished(directory.remove);
  const [log, workspace, home] = ['log', 'workspace', 'home'].map((name) => join(directory.path, name)) as [
    string,
    string,
    string,
  ];
  for (const folder of [workspace, home]) mkdirSync(folder);
  writeFileSync(join(directory.path, 'podman'), podman(log));
  chmodSync(join(directory.path, 'podman'), 0o755);
  writeFileSync(join(workspace, '.env'), 'KEY=1');
  const isolation = { kind: 'container' as const, program: join(directory.path, 'podman'), image: 'here' };
  const sandbox = (mode: 'auto' | 'require', hidden = [home, join(workspace, '.env')]) =>
    createSandbox({ mode, isolation, hidden, workspaces: [workspace] });
  return { path: directory.path, workspace, home, sandbox, logged: () => readFileSync(log, 'utf8') };
}

it('is found where bubblewrap is not, with an image that is there, and says what is missing', async () => {
  const { path, logged } = start();
  expect(await probe(path, 5000, 'here')).toEqual({
    kind: 'container',
    program: join(path, 'podman'),
    image: 'here',
  });
  expect(await probe(path, 5000, 'elsewhere')).toMatchObject({
    kind: 'none',
    reason: expect.stringMatching(/bubblewrap is not installed.*does not have the image elsewhere.*yourself/),
  });
  expect(await probe('/nowhere', 5000, 'here')).toMatchObject({
    reason: expect.stringContaining('neither podman nor docker'),
  });
  expect(await probe(path)).toMatchObject({ kind: 'none' });
  expect(logged()).not.toMatch(/^pull$/m);
});

it('gets no network, nothing to write but the workspace, no rights, and bounds', async () => {
  const { workspace, sandbox, logged } = start();
  const request = shellScript('ulimit -d; echo hello', workspace, {
    env: { PATH: '/usr/bin:/bin', TOKEN: 'sesame' },
    limits: { memoryMb: 100, processes: 20 },
  });
  const running = await sandbox('auto').start(request);
  expect(await outcomeOf(running)).toMatchObject({
    code: 0,
    // Also where the runtime ignores its own limits.
    output: `${(100 + 1024) * 1024}\nhello\n`,
  });
  expect(running.isolated).toBe(true);
  const words = logged().split('\n--\n')[0]?.split('\n') ?? [];
  for (const flag of [
    '--http-proxy=false',
    '--pull=never',
    '--network=none',
    '--read-only',
    '--cap-drop=all',
  ])
    expect(words).toContain(flag);
  for (const flag of ['--security-opt=no-new-privileges', '--pids-limit=20', '--memory=100m'])
    expect(words).toContain(flag);
  expect(words.filter((word) => word.startsWith('--mount='))).toEqual([
    `--mount=type=bind,source=${workspace},destination=${workspace}`,
    `--mount=type=bind,source=/dev/null,destination=${join(workspace, '.env')},readonly`,
  ]);
  expect(words.some((word) => word.startsWith('--cpus='))).toBe(true);
  // Variables stand in a file that only this account can read, never on the command line.
  expect(words.join('\n')).not.toContain('sesame');
  expect(logged()).toContain('TOKEN=sesame');
});

it('refuses what it cannot hold', async () => {
  const { path, workspace, home, sandbox } = start();
  const script = (more: object) => shellScript('true', workspace, more);
  await expect(sandbox('auto').start(script({ network: { hosts: ['a.example'] } }))).rejects.toThrow(
    'a list of hosts needs bubblewrap',
  );
  await expect(sandbox('auto').start(script({ network: 'public' }))).rejects.toThrow(
    /a network without this machine needs bubblewrap.* network: none /,
  );
  await expect(sandbox('require').start(script({ channel: true }))).rejects.toThrow(
    'a plugin needs bubblewrap',
  );
  await expect(sandbox('auto').start(script({ env: { A: 'x\nB=y' } }))).rejects.toThrow('several lines');
  symlinkSync(home, join(workspace, 'out'));
  await expect(sandbox('auto').start(script({ writable: [join(workspace, 'out')] }))).rejects.toThrow(
    'may have planted a link',
  );
  mkdirSync(join(path, 'comma,readonly'));
  symlinkSync(join(path, 'comma,readonly'), join(path, 'plain'));
  await expect(sandbox('auto').start(script({ readOnly: [join(path, 'plain')] }))).rejects.toThrow('a comma');
  mkdirSync(join(workspace, 'a,b'));
  await expect(
    sandbox('auto', [join(workspace, 'a,b')]).start(shellScript('true', workspace)),
  ).rejects.toThrow('a comma');
  expect(await sandbox('auto').status()).toMatchObject({ kind: 'container', isolated: true });
});

it('covers what is hidden by every path that shows it, and pins the folders above', async () => {
  const { path, workspace, sandbox, logged } = start();
  const [link, deep, keys] = [join(path, 'link'), join(workspace, 'deep'), join(workspace, 'deep/keys')];
  symlinkSync(workspace, link);
  mkdirSync(keys, { recursive: true });
  const named = sandbox('auto', [join(link, 'deep/keys')]);
  const request = shellScript('true', link, { writable: [link] });
  expect(await outcomeOf(await named.start(request))).toMatchObject({ code: 0 });
  const mounts = logged()
    .split('\n')
    .filter((word) => word.startsWith('--mount='));
  const bind = (source: string, destination: string) =>
    `--mount=type=bind,source=${source},destination=${destination}`;
  const cover = (destination: string) =>
    `--mount=type=tmpfs,destination=${destination},tmpfs-size=4096,notmpcopyup`;
  expect([...mounts].sort()).toEqual(
    [
      ...[bind(workspace, workspace), bind(deep, deep), cover(keys)],
      ...[bind(workspace, link), bind(deep, join(link, 'deep')), cover(join(link, 'deep/keys'))],
    ].sort(),
  );
  // Were it moved all the same, the next program would see it by its new name.
  renameSync(deep, join(workspace, 'moved'));
  await expect(named.start(request)).rejects.toThrow('may have moved it');
});

it('is looked for in every runtime, and where none is ready nothing runs plain but plugins', async () => {
  const { path, workspace } = start();
  const docker = join(path, 'docker');
  writeFileSync(join(path, 'podman'), '#!/bin/sh\necho "no such image" >&2; exit 125\n');
  writeFileSync(docker, '#!/bin/sh\necho "Cannot connect to the Docker daemon" >&2; exit 1\n', {
    mode: 0o755,
  });
  const isolation = await probe(path, 5000, 'here');
  expect(isolation).toMatchObject({
    kind: 'none',
    reason: expect.stringMatching(/no such image.*Cannot connect to the Docker daemon/),
  });
  const sandbox = createSandbox({ mode: 'auto', isolation });
  await expect(sandbox.start(shellScript('true', workspace))).rejects.toThrow(
    /Docker daemon.*Start or mend that/,
  );
  expect((await sandbox.status()).words).toContain('coding agents and plugins are refused');
  await expect(sandbox.start(shellScript('true', workspace, { channel: true }))).rejects.toThrow(
    'TRUNKLINE_SANDBOX=off',
  );
  writeFileSync(docker, podman(join(path, 'log')));
  expect(await probe(path, 5000, 'here')).toMatchObject({ kind: 'container', program: docker });
});
