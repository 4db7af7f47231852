import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished, vi } from 'vitest';
import { main } from '../commands/doctor.ts';
import { checkAddresses } from './addresses.ts';
import { mend } from './mend.ts';

const mendIn = (home: string, onFailure?: (failure: string) => void) =>
  mend({
    home,
    environmentFile: join(home, '../.env'),
    build: async () => [],
    ...(onFailure && { onFailure }),
  });

it('mends rights, stale records and names whose meaning is certain, says so, and leaves the rest alone', async () => {
  const temporary = temporaryDirectory();
  onTestFinished(temporary.remove);
  const home = join(temporary.path, 'home');
  expect(await mendIn(home)).toEqual([`created ${home}.`]);
  const at = (name: string) => join(home, name);
  mkdirSync(at('running'));
  writeFileSync(at('running/4194305.json'), '{}');
  writeFileSync(at(`running/${process.pid}.json`), '{}');
  writeFileSync(at('operator-key'), 'x', { mode: 0o644 });
  const settings = '# mine\nSEARXNG_ULR: http://a  # here\nLLM_MODLE: x\nLLM_MODEL: y\nQUITE_OTHER: 1\n';
  writeFileSync(at('settings.yaml'), settings, { mode: 0o600 });
  const models = 'rolse:\n  chatt: small\n  judge: { model: chatt }\nmodels:\n  rolse: {}\n';
  writeFileSync(at('models.yaml'), models, { mode: 0o600 });
  expect(await mendIn(home)).toEqual([
    `took the rights of group and others from ${at('operator-key')} (mode was 644).`,
    `removed ${at('running/4194305.json')}, the record of a process that is gone.`,
    `renamed SEARXNG_ULR to SEARXNG_URL in ${at('settings.yaml')}.`,
    `renamed rolse to roles in ${at('models.yaml')}.`,
    `renamed chatt to chat in ${at('models.yaml')}.`,
  ]);
  expect(statSync(at('operator-key')).mode & 0o777).toBe(0o600);
  expect(readdirSync(at('running'))).toEqual([`${process.pid}.json`]);
  expect(readFileSync(at('settings.yaml'), 'utf8')).toBe(settings.replace('ULR', 'URL'));
  expect(readFileSync(at('models.yaml'), 'utf8')).toBe(
    'roles:\n  chat: small\n  judge: { model: chatt }\nmodels:\n  rolse: {}\n',
  );
  expect(await mendIn(home)).toEqual([]);
});

it('renames neither of two names that mean the same, nor a key, and changes nothing behind a link', async () => {
  const temporary = temporaryDirectory();
  onTestFinished(temporary.remove);
  const at = (name: string) => join(temporary.path, name);
  mkdirSync(at('home'), { mode: 0o700 });
  const settings = 'SEARXNG_ULR: http://a\nSEARXNG_URLS: http://b\nLLM_API_KEYS: x\n';
  writeFileSync(at('home/settings.yaml'), settings, { mode: 0o600 });
  writeFileSync(at('elsewhere'), 'x', { mode: 0o644 });
  symlinkSync(at('elsewhere'), at('home/operator-key'));
  expect(await mendIn(at('home'))).toEqual([]);
  expect(readFileSync(at('home/settings.yaml'), 'utf8')).toBe(settings);
  expect(statSync(at('elsewhere')).mode & 0o777).toBe(0o644);
});

it('mends names in .env alone, and keeps its mode and a copy of it', async () => {
  const temporary = temporaryDirectory();
  onTestFinished(temporary.remove);
  const [file, home] = [join(temporary.path, '.env'), join(temporary.path, 'home')];
  const before = [
    '\uFEFFexport SEARXNG_ULR="http://a" # SEARXNG_ULR of ours\r',
    '# LLM_MODEL=x',
    "NOTE='in words:",
    "AGENT_PROT=1'",
    '  LLM_MODLE = huge',
    // Not certain: set twice, a secret, whose data or who may enter, of others.
    'AGENT_PORTS=1',
    'AGENT_PORT=2',
    'A2A_AUTH_TOKENS=hush',
    'TRUNKLINE_HOM=/elsewhere',
    'TRUNKLINE_OPNE=1',
    'PEER_ADA_ULR=http://b',
    'PROT=3',
  ];
  writeFileSync(file, before.join('\n'));
  chmodSync(file, 0o640);
  const reader = openSync(file, 'r');
  onTestFinished(() => closeSync(reader));
  const done = await mendIn(home);
  // The file is replaced, not written over: whoever reads it meanwhile has one or the other, never a part.
  expect(readFileSync(reader, 'utf8')).toBe(before.join('\n'));
  const [copies = ''] = readdirSync(home);
  const copy = join(home, copies, '.env');
  expect(done).toEqual([
    `created ${home}.`,
    `renamed SEARXNG_ULR to SEARXNG_URL in ${file}.`,
    `renamed LLM_MODLE to LLM_MODEL in ${file}.`,
    `kept ${file} as it was in ${copy}.`,
  ]);
  expect(readFileSync(copy, 'utf8')).toBe(before.join('\n'));
  expect(readFileSync(file, 'utf8').split('\n')).toEqual([
    '\uFEFFexport SEARXNG_URL="http://a" # SEARXNG_ULR of ours\r',
    ...before.slice(1, 4),
    '  LLM_MODEL = huge',
    ...before.slice(5),
  ]);
  expect(statSync(file).mode & 0o777).toBe(0o640);
  expect(statSync(join(home, copies)).mode & 0o077).toBe(0);
  expect(await mendIn(home)).toEqual([]);
});

it('tells what it could not change, and goes on', async () => {
  const temporary = temporaryDirectory();
  onTestFinished(temporary.remove);
  const at = (name: string) => join(temporary.path, 'home', name);
  // A folder in place of the record cannot be removed as a file, whoever runs this.
  mkdirSync(at('running/4194305.json'), { recursive: true });
  writeFileSync(at('settings.yaml'), 'SEARXNG_ULR: http://a\n', { mode: 0o600 });
  const failures: string[] = [];
  // Where it cannot keep a copy, it leaves the file as it is.
  const environmentFile = join(temporary.path, '.env');
  writeFileSync(environmentFile, 'SEARXNG_ULR=http://a\n');
  vi.useFakeTimers({ now: 0, toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  writeFileSync(at('before-doctor-fix-1970-01-01T00-00-00-000Z'), 'in its place');
  expect(await mendIn(at(''), (failure) => failures.push(failure))).toContain(
    `renamed SEARXNG_ULR to SEARXNG_URL in ${at('settings.yaml')}.`,
  );
  expect(failures).toMatchObject([
    expect.stringContaining(`could not remove ${at('running/4194305.json')}: `),
    expect.stringContaining(`could not rename misspelt names in ${environmentFile}: `),
  ]);
  expect(readFileSync(environmentFile, 'utf8')).toBe('SEARXNG_ULR=http://a\n');
});

it('changes nothing when help is asked for or a flag is wrong', async () => {
  const temporary = temporaryDirectory();
  onTestFinished(temporary.remove);
  const help = vi.spyOn(console, 'log').mockReturnValue();
  onTestFinished(() => help.mockRestore());
  const env = { TRUNKLINE_HOME: join(temporary.path, 'home') };
  expect(await main(['--fix', '-h'], env)).toBe(0);
  await expect(main(['--fix', '--bogus'], env)).rejects.toThrow('--bogus');
  expect(existsSync(env.TRUNKLINE_HOME)).toBe(false);
});

it('shows of an address only where it is, as the rest may be secret', async () => {
  const temporary = temporaryDirectory();
  onTestFinished(temporary.remove);
  const agent = { trunklineHome: temporary.path };
  const none = { voice: {}, agent, research: {}, switchboard: {} } as Parameters<typeof checkAddresses>[0];
  const url = 'http://me:hush@127.0.0.1:1/hooks/T0/B0/hush?key=hush';
  const findings = await checkAddresses(none, { PEER_ADA_URL: url });
  expect(findings).toMatchObject([{ words: expect.stringContaining('Cannot reach http://127.0.0.1:1:') }]);
  expect(JSON.stringify(findings)).not.toContain('hush');
  // The console's Settings page saves the address of the agent's model there.
  const config = join(temporary.path, 'agent', 'config');
  mkdirSync(config, { recursive: true });
  writeFileSync(join(config, 'agent.yaml'), 'model:\n  api_base: http://127.0.0.1:1/v1\n');
  writeFileSync(join(config, 'delegates.example.yaml'), 'delegates: [{ url: "http://127.0.0.1:2" }]\n');
  expect(await checkAddresses(none, {})).toMatchObject([
    { subject: 'agent.yaml', state: 'failed', advice: expect.stringContaining('agent.yaml') },
  ]);
});

it('tries the addresses in files that variables name, and tells which it cannot read', async () => {
  const temporary = temporaryDirectory();
  onTestFinished(temporary.remove);
  const place = (name: string, text: string) => {
    const file = join(temporary.path, name);
    writeFileSync(file, text);
    return file;
  };
  const voice = {
    delegatesYaml: place('whom.yaml', `delegates: [{ url: "\${ASKED:-http://127.0.0.1:1}/a2a" }]\n`),
    mcpYaml: place(
      'tools.yaml',
      `servers:\n  - { url: "http://127.0.0.1:2", token: "\${NOPE}" }\n  - { url: "http://\${HOST_OF_TOOLS}/mcp" }\n`,
    ),
  };
  const agents = [
    `{ url: "http://127.0.0.1:3", prompt: "\${NOPE}" }`,
    '{ cardJwks: "http://127.0.0.1:4/keys" }',
  ];
  const switchboard = { agentsFile: place('others.yaml', `agents: [${agents}]\n`) };
  const agent = { trunklineHome: join(temporary.path, 'home') };
  const services = { voice, agent, research: {}, switchboard } as Parameters<typeof checkAddresses>[0];
  const findings = await checkAddresses(services, {});
  const unreachable = (subject: string, port: number) => ({
    ...{ subject, state: 'failed' },
    words: expect.stringContaining(`Cannot reach http://127.0.0.1:${port}: `),
  });
  expect(findings).toMatchObject([
    unreachable('whom.yaml', 1),
    unreachable('tools.yaml', 2),
    unreachable('others.yaml', 3),
    unreachable('others.yaml', 4),
    { subject: 'tools.yaml', state: 'warning', words: expect.stringContaining('HOST_OF_TOOLS') },
  ]);
  // Of the variables that are given here, not of this process.
  const set = await checkAddresses(services, { NOPE: 'x', HOST_OF_TOOLS: '127.0.0.1:5' });
  expect(set.map(({ words }) => /:(\d):/.exec(words)?.[1])).toEqual(['1', '2', '5', '3', '4']);
});
