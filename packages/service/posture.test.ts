import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openAccounts } from '@trunkline/accounts';
import { defineOptions, text } from '@trunkline/config';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { checkPosture, type SecurityFinding } from './index.ts';
import { plainSecretsOf } from './trust.ts';

const sandbox = { kind: 'bubblewrap', isolated: true, words: 'bubblewrap' } as const;
const policy = { rules: [], hosts: [], agents: {}, descriptions: {}, budgets: [] };
const exposure = { name: 'agent', host: '127.0.0.1', isOpen: true, variable: 'A2A_AUTH_TOKEN' };

function start() {
  const home = temporaryDirectory();
  onTestFinished(home.remove);
  return async (input: Partial<Parameters<typeof checkPosture>[0]> = {}) => {
    const findings = await checkPosture({
      home: home.path,
      isOpen: false,
      services: [exposure],
      sandbox,
      policy,
      ...input,
    });
    const of = (subject: string) => findings.filter((finding) => finding.subject === subject);
    return { home: home.path, of };
  };
}

const states = (findings: readonly SecurityFinding[]) => findings.map(({ state }) => state);

it('names approvers who belong to no account', async () => {
  const look = start();
  const listed = { identity: 'discord:1', file: 'approvers.yaml' };
  const { home, of } = await look({ approvers: [listed] });
  expect(of('approvers')).toMatchObject([
    { state: 'warning', words: 'may approve and belongs to no account: discord:1 (approvers.yaml).' },
  ]);
  const accounts = openAccounts({ home, logger: console });
  accounts.create({ name: 'Ada', role: 'member', identities: ['discord:1', 'signal:+49170'] });
  accounts.close();
  // Under the names that surfaces have.
  const named = ['chat:1', 'messenger:+49170', 'chat:2'].map((identity) => ({ ...listed, identity }));
  expect((await look({ approvers: named })).of('approvers')).toMatchObject([
    { state: 'warning', words: 'may approve and belongs to no account: chat:2 (approvers.yaml).' },
  ]);
  expect(states((await look({ approvers: [listed] })).of('approvers'))).toEqual(['ok']);
  expect(states((await look({ approvers: [] })).of('approvers'))).toEqual(['ok']);
  // Where the list is not known, nothing is claimed.
  expect((await look()).of('approvers')).toEqual([]);
});

it('names channels whose members need no pairing, and pairing that is off', async () => {
  const look = start();
  const senders = { pairing: 'required' as const, trustedChannels: [] };
  expect((await look()).of('senders')).toEqual([]);
  expect(states((await look({ senders })).of('senders'))).toEqual(['ok']);
  expect(
    (await look({ senders: { ...senders, trustedChannels: ['team', 'ops'] } })).of('senders'),
  ).toMatchObject([{ state: 'warning', words: expect.stringContaining('can write in team, ops uses') }]);
  expect((await look({ senders: { ...senders, pairing: 'off' } })).of('senders')).toMatchObject([
    { state: 'warning', words: expect.stringContaining('PAIRING=off') },
  ]);
});

it('names what the rules let agents do without asking', async () => {
  const look = start();
  const rule = (fields: object) => ({ decision: 'allow' as const, ...fields });
  expect(states((await look()).of('policy'))).toEqual(['ok']);
  const narrow = [
    rule({ tool: ['write_file'], arguments: { path: ['reports/**'] } }),
    rule({ tool: ['write_file'], taint: 'clean' }),
    rule({ effects: ['sends'], taint: 'clean' }),
    rule({ tool: ['*'], arguments: { host: ['a.example'] } }),
    rule({ effects: ['reads'] }),
  ];
  expect(states((await look({ policy: { ...policy, rules: narrow } })).of('policy'))).toEqual(['ok']);
  const { of } = await look({
    policy: {
      ...policy,
      rules: [
        rule({ tool: ['write_file'] }),
        rule({ principal: ['operator'] }),
        rule({ effects: ['executes'] }),
      ],
      agents: { scribe: { taint: 'relaxed' }, helm: { taint: 'strict', delegation: 'relaxed' } },
    },
  });
  expect(of('policy').map(({ words }) => words)).toEqual([
    expect.stringContaining('scribe is relaxed'),
    expect.stringContaining('helm hands work on without asking'),
    expect.stringContaining('rule 2, 3 of policy.yaml'),
    'policy.yaml allows with any arguments, also after text from outside: write_file (rule 1).',
  ]);
});

it('names a missing sandbox, an open service and an open installation', async () => {
  const look = start();
  const none = { kind: 'none', isolated: false, words: 'none', advice: 'Install bubblewrap.' } as const;
  const { of } = await look({
    sandbox: none,
    isOpen: true,
    services: [{ ...exposure, host: '0.0.0.0' }],
  });
  expect(of('sandbox')).toMatchObject([{ state: 'warning', advice: 'Install bubblewrap.' }]);
  expect(states(of("operator's key"))).toEqual(['warning']);
  expect(states(of('agent is open'))).toEqual(['warning']);
  expect(states((await look({ sandbox: { ...none, refuses: true } })).of('sandbox'))).toEqual(['ok']);
});

it('goes on where a folder cannot be read, and names it', async () => {
  const look = start();
  const { home } = await look();
  const folder = join(home, 'workspace');
  mkdirSync(folder);
  // A closed folder stops nobody who is root, a path that is too long does.
  const dig =
    "for (let n = 0; n < 20; n++) { fs.mkdirSync('d'.repeat(250)); process.chdir('d'.repeat(250)); }";
  execFileSync(process.execPath, ['-e', dig], { cwd: folder });
  onTestFinished(() => void execFileSync('rm', ['-rf', folder]));
  const closed = join(home, 'closed');
  mkdirSync(closed);
  chmodSync(closed, 0);
  onTestFinished(() => chmodSync(closed, 0o700));
  const words = (await look()).of('data directory').map((finding) => finding.words);
  expect(words).toContainEqual(expect.stringMatching(/^could not be looked at: .*ENAMETOOLONG/));
  if (process.getuid?.() !== 0) expect(words.join()).toContain(`${closed} (EACCES)`);
});

it('names secrets of its own options that stand in .env in plain text', () => {
  const home = temporaryDirectory();
  onTestFinished(home.remove);
  const file = join(home.path, '.env');
  const door = text({ env: 'DOOR_CODE', doc: 'The code.', secret: true });
  const table = defineOptions('toy', 'Toy', { door });
  expect(plainSecretsOf(file, table)).toMatchObject({ state: 'ok' });
  writeFileSync(file, 'DOOR_CODE=sesame-open\nOTHER=nothing-secret\n');
  const found = plainSecretsOf(file, table);
  expect(found).toMatchObject({ subject: 'plain secrets', state: 'warning' });
  expect(found.words).toContain('DOOR_CODE');
  expect(JSON.stringify(found)).not.toContain('sesame');
});
