import { createHash } from 'node:crypto';
import { openAccounts } from '@trunkline/accounts';
import { AuditLog } from '@trunkline/audit';
import { temporaryDirectory } from '@trunkline/testing';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { main } from './users.ts';

afterEach(() => void vi.restoreAllMocks());

function start() {
  const home = temporaryDirectory();
  onTestFinished(home.remove);
  const accounts = openAccounts({ home: home.path, logger: console });
  const audit = new AuditLog({ home: home.path, logger: console });
  onTestFinished(() => {
    accounts.close();
    audit.close();
  });
  /** The exit code and what was printed. */
  const run = async (...argv: string[]): Promise<[number, string]> => {
    const lines: string[] = [];
    const print = (line: string) => void lines.push(line);
    vi.spyOn(console, 'log').mockImplementation(print);
    vi.spyOn(console, 'error').mockImplementation(print);
    return [await main(argv, { TRUNKLINE_HOME: home.path }), lines.join('\n')];
  };
  return { run, accounts, audit };
}

it('adds people, gives them roles and keys, and takes them away again', async () => {
  const { run, accounts, audit } = start();
  expect(await run()).toEqual([0, expect.stringContaining('There are no accounts')]);
  await run('add', 'Ava', '--role', 'guest');
  const id = accounts.list()[0]?.id ?? '';
  expect(await run('add', 'ava')).toEqual([1, 'There is an account ava already.']);
  expect(await run('role', 'ava', 'member')).toEqual([0, `Ava (${id}) is member now.`]);
  const [, printed] = await run('key', 'Ava', '--label', 'laptop');
  const [key = ''] = /tlk_[\w-]{43}/.exec(printed) ?? [];
  expect(accounts.byKey(key)).toMatchObject({ id, role: 'member' });
  await run('link', 'Ava', 'voice:ava');
  accounts.setListed('users.yaml', [{ identity: 'voice:ava', name: 'ava\u001b[2J', role: 'member' }]);
  const [, shown] = await run('list');
  expect(shown).toMatch(
    /Ava\s+member\s+voice:ava\n.*key [0-9a-f]{8}\s+laptop used .*\n\(users\.yaml\).*linked to Ava/,
  );
  expect([shown.includes('\u001b'), shown.includes(key)]).toEqual([false, false]);
  const verifier = 'a verifier';
  const program = { clientId: 'sailor', redirect: 'http://127.0.0.1/callback' };
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  const code = accounts.programs.createCode({
    ...program,
    account: id,
    name: 'Sailor',
    agent: 'agent',
    challenge,
  });
  accounts.programs.redeem(code, { ...program, verifier });
  const [{ programId = '' } = {}] = accounts.programs.list(id);
  expect((await run('list'))[1]).toContain(`program ${programId}  Sailor at agent, never used`);
  expect(await run('disconnect', programId)).toEqual([
    0,
    `Disconnected program ${programId} of Ava (${id}).`,
  ]);
  expect(await run('disconnect', programId)).toEqual([1, `There is no connected program ${programId}.`]);
  const keyId = accounts.keys(id)[0]?.keyId ?? '';
  expect(await run('revoke', keyId)).toEqual([0, `Revoked key ${keyId} of Ava (${id}).`]);
  expect(accounts.byKey(key)).toBeUndefined();
  await run('disable', id);
  expect(accounts.get(id)?.disabled).toBe(true);
  await run('enable', id);
  await run('unlink', 'voice:ava');
  await run('remove', 'Ava');
  expect(accounts.list()).toEqual([]);
  expect(
    audit
      .list()
      .map(({ subject }) => subject)
      .reverse(),
  ).toEqual(
    ['add', 'role', 'key', 'link', 'disconnect', 'revoke', 'disable', 'enable', 'unlink', 'remove'].map(
      (each) => `users ${each}`,
    ),
  );
  expect(JSON.stringify(audit.list())).not.toContain(key);
});

it('pairs whoever has a code with an account or a new one, and refuses others', async () => {
  const { run, accounts } = start();
  const { code = '' } = accounts.requestPairing('discord:1', 'Ava') ?? {};
  expect(await run('pair', code)).toEqual([1, expect.stringContaining('--as NAME')]);
  expect(await run('pair', code, '--as', 'Ava', '--role', 'guest')).toEqual([
    0,
    expect.stringMatching(/^Paired discord:1 with Ava/),
  ]);
  const mail = accounts.requestPairing('mail:a@b', 'Ava')?.code ?? '';
  await run('pair', mail, '--as', 'ava');
  expect(accounts.list()).toMatchObject([
    { name: 'Ava', role: 'guest', identities: ['discord:1', 'mail:a@b'] },
  ]);
  // As approvers.yaml takes it, where it calls the product otherwise.
  expect((await run('list'))[1]).toMatch(/Ava +guest +discord:1 mail:a@b\n +in approvers\.yaml +"chat:1"$/);
  accounts.requestPairing('discord:2', 'Eve');
  expect(await run('list')).toEqual([0, expect.stringContaining('discord:2, until')]);
  await run('refuse', 'discord:2');
  expect(accounts.pairings()).toEqual([]);
});

it('says what is wrong', async () => {
  const { run, accounts } = start();
  accounts.create({ name: 'Ola', role: 'owner' });
  accounts.create({ name: 'Bo', role: 'member' });
  accounts.create({ name: 'bo', role: 'member' });
  expect(await run('role', 'Ola', 'king')).toEqual([
    1,
    expect.stringContaining('owner, operator, member, guest'),
  ]);
  expect(await run('role', 'Ola', 'member')).toEqual([1, expect.stringContaining('only owner')]);
  expect(await run('key', 'nobody')).toEqual([1, expect.stringContaining('no account nobody')]);
  expect(await run('key', 'bo')).toEqual([1, expect.stringContaining('Several accounts')]);
  expect(await run('pair', 'AAAA2222', '--as', 'Ola')).toEqual([
    1,
    expect.stringContaining('No open request'),
  ]);
  expect(await run('pair', 'AAAA2222')).toEqual([
    1,
    expect.stringMatching(
      /users pair AAAA2222 --as NAME\. NAME is an account \(Bo, bo, Ola\), or the name of a new/i,
    ),
  ]);
  expect(await run('crown', 'Ola')).toEqual([1, expect.stringContaining('Usage: trunkline users')]);
  expect(await run('--help')).toEqual([0, expect.stringContaining('pair CODE --as NAME')]);
});
