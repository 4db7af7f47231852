import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { setImmediate as breathe } from 'node:timers/promises';
import { secretStoreOf } from '@trunkline/config';
import { type Child, startChild, temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';

const launcher = join(import.meta.dirname, '../../../bin/trunkline.js');
const ports = { VOICE_PORT: '0', AGENT_PORT: '0', RESEARCH_PORT: '0', SWITCHBOARD_PORT: '0' };

function run(home: string, ...args: string[]): Child {
  return runWith({}, home, ...args);
}

function runWith(variables: Record<string, string>, home: string, ...args: string[]): Child {
  const environment = { HOME: home, TRUNKLINE_HOME: home, LLM_GATEWAY_URL: '', ...ports, ...variables };
  const child = startChild(launcher, { arguments: args, environment });
  onTestFinished(async () => void (await child.kill()));
  return child;
}

async function start(home: string): Promise<string> {
  const child = run(home, 'up');
  await child.waitForLine('Ctrl-C stops everything', 60_000);
  return /^ {2}agent +(http:\S+)/m.exec(child.output())?.[1] ?? '';
}

const post = (url: string, body: object) =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
const send = (agent: string, text: string) =>
  post(`${agent}/a2a`, {
    jsonrpc: '2.0',
    id: 1,
    method: 'message/send',
    params: { message: { role: 'user', parts: [{ kind: 'text', text }] } },
  });

it('a copy made while the services work starts with all that was there', async () => {
  const directory = temporaryDirectory();
  onTestFinished(directory.remove);
  const [home, copy] = [join(directory.path, 'home'), join(directory.path, 'copy')];
  mkdirSync(home);
  const agent = await start(home);
  const task = (await (await send(agent, 'what is 6*7')).json()).result.id as string;
  const busy = Array.from({ length: 20 }, (_, number) => send(agent, `what is ${number}*2`));
  const backup = run(home, 'backup', copy);
  expect(await backup.exited, backup.output()).toMatchObject({ code: 0 });
  expect(backup.output()).toMatch(/\d+ databases and \d+ other files of .*home are now in .*copy\./);
  await Promise.all(busy);
  expect(statSync(join(copy, 'family-secret')).mode & 0o777).toBe(0o600);
  expect(existsSync(join(copy, 'agent/config/agent.yaml'))).toBe(true);
  const restored = await start(copy);
  const found = await (await fetch(`${restored}/api/tasks/${task}`)).json();
  expect(found.task).toMatchObject({ id: task, state: 'completed' });
});

it('leaves out what is gone since it was listed, such as files that are being written', async () => {
  const directory = temporaryDirectory();
  onTestFinished(directory.remove);
  const [home, copy] = [join(directory.path, 'home'), join(directory.path, 'copy')];
  mkdirSync(home);
  const fresh = Array.from({ length: 400 }, (_, number) => join(home, `new-${number}`));
  for (const path of fresh) writeFileSync(path, 'new');
  const backup = run(home, 'backup', copy);
  const ended = backup.exited.then(() => true);
  for (let round = 0; !(await Promise.race([ended, breathe(false)])); round += 1)
    for (const path of fresh)
      renameSync(round % 2 === 0 ? path : `${path}.kept`, round % 2 === 0 ? `${path}.kept` : path);
  expect(await backup.exited, backup.output()).toMatchObject({ code: 0 });
});

it('says what is wrong with the folders', async () => {
  const directory = temporaryDirectory();
  onTestFinished(directory.remove);
  const home = join(directory.path, 'home');
  const ask = async (...args: string[]) => {
    const child = run(home, 'backup', ...args);
    return { code: (await child.exited).code, words: child.output() };
  };
  expect(await ask(join(directory.path, 'copy'))).toMatchObject({
    code: 1,
    words: expect.stringContaining('TRUNKLINE_HOME'),
  });
  mkdirSync(home);
  expect(await ask(join(home, 'copy'))).toMatchObject({
    code: 1,
    words: expect.stringContaining('lies inside'),
  });
  mkdirSync(join(directory.path, 'used'));
  writeFileSync(join(directory.path, 'used/old.txt'), '');
  expect(await ask(join(directory.path, 'used'))).toMatchObject({
    code: 1,
    words: expect.stringContaining('is not empty'),
  });
  expect(await ask()).toMatchObject({ code: 2, words: expect.stringContaining('trunkline backup FOLDER') });
});

it('copies what links lead to, empty folders, and a damaged database as it is, which it tells', async () => {
  const directory = temporaryDirectory();
  onTestFinished(directory.remove);
  const [home, copy] = [join(directory.path, 'home'), join(directory.path, 'copy')];
  const disk = join(directory.path, 'disk');
  for (const path of [home, disk, join(home, 'empty')]) mkdirSync(path);
  writeFileSync(join(disk, 'users.yaml'), 'users: []');
  writeFileSync(join(disk, 'a.txt'), 'a');
  symlinkSync(join(disk, 'users.yaml'), join(home, 'users.yaml'));
  symlinkSync(disk, join(home, 'disk'));
  symlinkSync(home, join(disk, 'back'));
  symlinkSync(join(disk, 'nothing'), join(home, 'nowhere'));
  writeFileSync(join(home, 'damaged.db'), 'no database');
  writeFileSync(join(home, 'z.txt'), 'z');
  secretStoreOf({ TRUNKLINE_HOME: home }).set('kept', 'sesame-backup');
  const backup = run(home, 'backup', copy);
  expect(await backup.exited, backup.output()).toMatchObject({ code: 1 });
  expect(existsSync(join(copy, 'secrets-key'))).toBe(false);
  expect(backup.output()).toContain(`their key is not. Keep a copy of it (${join(home, 'secrets-key')})`);
  const key = readFileSync(join(home, 'secrets-key'), 'utf8');
  expect(secretStoreOf({ TRUNKLINE_HOME: copy, TRUNKLINE_SECRETS_KEY: key }).get('kept')).toBe(
    'sesame-backup',
  );
  expect(backup.output()).toContain(`${join(home, 'damaged.db')} is no whole database`);
  const text = (name: string) => readFileSync(join(copy, name), 'utf8');
  expect(['users.yaml', 'disk/a.txt', 'damaged.db', 'z.txt'].map(text)).toEqual([
    'users: []',
    'a',
    'no database',
    'z',
  ]);
  expect(existsSync(join(copy, 'empty'))).toBe(true);
  expect(existsSync(join(copy, 'disk/back'))).toBe(false);
});

it('follows no link that a program in the sandbox may have planted, and names what it leaves out', async () => {
  const directory = temporaryDirectory();
  onTestFinished(directory.remove);
  const [home, copy] = [join(directory.path, 'home'), join(directory.path, 'copy')];
  const outside = join(directory.path, 'outside');
  const places = [join(home, 'agent/workspace/below'), join(home, 'agent/sandbox/codex')];
  for (const path of [outside, ...places]) mkdirSync(path, { recursive: true });
  writeFileSync(join(outside, 'secret'), 'secret');
  for (const place of places) {
    symlinkSync(join(outside, 'secret'), join(place, 'file'));
    symlinkSync(outside, join(place, 'folder'));
    symlinkSync('nowhere', join(place, 'dead'));
  }
  execFileSync('mkfifo', [join(home, 'agent/workspace/pipe.db')]);
  const keyFile = join(home, 'agent/own-key');
  for (const path of [keyFile, `${keyFile}.new`]) writeFileSync(path, 'a key');
  symlinkSync(keyFile, join(home, 'way-to-key'));
  const backup = runWith({ TRUNKLINE_SECRETS_KEY_FILE: keyFile }, home, 'backup', copy);
  expect(await backup.exited, backup.output()).toMatchObject({ code: 0 });
  expect(backup.output()).toContain(`${join(home, 'agent/workspace/pipe.db')} is neither a file`);
  for (const place of places) {
    const link = (name: string) => readlinkSync(join(copy, relative(home, place), name));
    expect(['file', 'folder', 'dead'].map(link)).toEqual([join(outside, 'secret'), outside, 'nowhere']);
  }
  const keys = ['agent/own-key', 'agent/own-key.new', 'way-to-key'];
  expect(keys.filter((name) => existsSync(join(copy, name)))).toEqual([]);
});

it('says why it could not copy', async () => {
  const directory = temporaryDirectory();
  onTestFinished(directory.remove);
  const home = join(directory.path, 'home');
  mkdirSync(home);
  writeFileSync(join(directory.path, 'file'), '');
  for (const target of ['file', 'file/below']) {
    const backup = run(home, 'backup', join(directory.path, target));
    expect(await backup.exited).toMatchObject({ code: 1 });
    expect(backup.output()).toContain('The copy failed: ');
    expect(backup.output()).not.toContain('    at ');
  }
});
