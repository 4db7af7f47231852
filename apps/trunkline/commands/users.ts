import { type Account, type Accounts, nameOnSurface, openAccounts } from '@trunkline/accounts';
import { AuditLog } from '@trunkline/audit';
import { choice, defineOptions, homeOptions, text } from '@trunkline/config';
import { HttpError } from '@trunkline/http';
import { CommandError, defineCommand } from './command.ts';

const roles = ['owner', 'operator', 'member', 'guest'] as const;
type Role = (typeof roles)[number];
const MAX_NAMED = 20;

const usage = `trunkline users [COMMAND]

  list                        accounts, people of users.yaml and keys.yaml, and who asks to be paired
  add NAME [--role ROLE]      create an account
  role NAME ROLE              owner: everything, and appoints operators; operator: configures and approves;
                              member: uses agents; guest: talks to agents that are public, no tool with effects
  key NAME [--label TEXT]     create a key and print it, this once
  revoke KEY-ID               revoke a key; it also disconnects the programs of its account
  disconnect PROGRAM-ID       disconnect a program that somebody has allowed
  disable NAME, enable NAME   let nobody in with this account, or again
  remove NAME                 remove an account with its keys
  link NAME IDENTITY          the same person elsewhere: discord:1234, mail:ava@example.com, voice:ava
  unlink IDENTITY
  pair CODE --as NAME         let in whoever was given this code; NAME is an account, or a new one with --role
  refuse IDENTITY             do not pair them; they get no new code within the hour`;

const table = defineOptions('users', 'Users: the people of this installation, their roles and keys', {
  trunklineHome: homeOptions.trunklineHome,
  role: choice({ values: roles, flag: '--role', default: 'member', doc: 'Role of a new account.' }),
  label: text({ flag: '--label', default: '', doc: 'What a key is for.' }),
  as: text({ flag: '--as', doc: 'Account to pair the sender with.' }),
});

/** Manages accounts in the file itself, also while no service runs. Every change stands in the audit log. */
export const main = defineCommand({
  usage,
  options: table,
  takesWords: true,
  async run({ trunklineHome: home, role, label, as }, _env, words) {
    const accounts = openAccounts({ home, logger: console });
    const audit = new AuditLog({ home, logger: console });
    const [command = 'list', first = '', second = ''] = words;
    const deps: Deps = { accounts, first, second, role, label, as };
    try {
      if (command === 'list') return list(accounts);
      const run = Object.hasOwn(changes, command) ? changes[command] : undefined;
      if (run === undefined || first === '') throw new CommandError(`Usage: ${usage}`);
      const change = run(deps);
      const principal = { kind: 'operator', id: 'operator', via: [] } as const;
      audit.append({
        service: 'trunkline',
        action: 'account.change',
        subject: `users ${command}`,
        principal,
        result: change,
      });
      console.log(`${change}.`);
      return 0;
    } catch (error) {
      throw error instanceof HttpError ? new CommandError(error.message) : error;
    } finally {
      accounts.close();
      audit.close();
    }
  },
});

interface Deps {
  accounts: Accounts;
  first: string;
  second: string;
  role: Role;
  label: string;
  as: string | undefined;
}

/** Each makes its change and says what it was. */
const changes: Readonly<Record<string, (deps: Deps) => string>> = {
  add({ accounts, first, role }) {
    if (named(accounts, first).length > 0) throw new CommandError(`There is an account ${first} already.`);
    return `Created ${titleOf(accounts.create({ name: first, role }))} as ${role}`;
  },
  role({ accounts, first, second }) {
    const role = roles.find((known) => known === second);
    if (role === undefined) throw new CommandError(`The role is one of: ${roles.join(', ')}.`);
    return `${titleOf(accounts.update(find(accounts, first).id, { role }))} is ${role} now`;
  },
  key({ accounts, first, label }) {
    const account = find(accounts, first);
    const { key, keyId } = accounts.createKey(account.id, label);
    console.log(`${key}\nSend it as "Authorization: Bearer", or sign in with it. It is not shown again.`);
    return `Created key ${keyId} of ${titleOf(account)}`;
  },
  revoke({ accounts, first }) {
    const account = accounts.accountOfKey(first);
    accounts.revokeKey(first);
    return `Revoked key ${first}${account === undefined ? '' : ` of ${titleOf(account)}`}`;
  },
  disconnect({ accounts, first }) {
    const account = accounts.get(accounts.programs.accountOfProgram(first) ?? '');
    accounts.programs.disconnect(first);
    return `Disconnected program ${first}${account === undefined ? '' : ` of ${titleOf(account)}`}`;
  },
  disable: ({ accounts, first }) =>
    `Disabled ${titleOf(accounts.update(find(accounts, first).id, { disabled: true }))}`,
  enable: ({ accounts, first }) =>
    `Enabled ${titleOf(accounts.update(find(accounts, first).id, { disabled: false }))}`,
  remove({ accounts, first }) {
    const account = find(accounts, first);
    accounts.remove(account.id);
    return `Removed ${titleOf(account)}`;
  },
  link: ({ accounts, first, second }) =>
    `Linked ${second} to ${titleOf(accounts.link(find(accounts, first).id, second))}`,
  unlink({ accounts, first }) {
    accounts.unlink(first);
    return `Unlinked ${first}`;
  },
  pair({ accounts, first, as, role }) {
    if (as === undefined) throw new CommandError(whoIsIt(accounts, first));
    const known = named(accounts, as).length > 0;
    const target = known ? { accountId: find(accounts, as).id } : { name: as, role };
    const account = accounts.approvePairing({ code: first }, target);
    return `Paired ${account.identities.at(-1)} with ${titleOf(account)}`;
  },
  refuse({ accounts, first }) {
    accounts.refusePairing(first);
    return `Refused to pair ${first}`;
  },
};

/** A name that a stranger chose is never taken for an account: it could be the name of somebody else. */
function whoIsIt(accounts: Accounts, code: string): string {
  const names = accounts.list().map(({ name }) => name);
  const more = names.length > MAX_NAMED ? ' and more ("npx trunkline users list")' : '';
  const known = names.length === 0 ? '' : `an account (${names.slice(0, MAX_NAMED).join(', ')}${more}), or `;
  return visible(
    `Say whose code it is: npx trunkline users pair ${code} --as NAME. NAME is ${known}the name of a new account.`,
  );
}

function named(accounts: Accounts, name: string): Account[] {
  const lower = name.trim().toLowerCase();
  return accounts.list().filter((account) => account.id === name || account.name.toLowerCase() === lower);
}

function find(accounts: Accounts, name: string): Account {
  const [account, other] = named(accounts, name);
  if (account === undefined)
    throw new CommandError(`There is no account ${name}. "npx trunkline users list" shows all.`);
  if (other !== undefined)
    throw new CommandError(
      `Several accounts are called ${name}: name one by its id, which "npx trunkline users list" shows.`,
    );
  return account;
}

function list(accounts: Accounts): number {
  const [all, listed, pairings] = [accounts.list(), accounts.listed(), accounts.pairings()];
  const owners = new Map(
    all.flatMap(({ name, identities }) => identities.map((each) => [each, name] as const)),
  );
  const rows: string[][] = all.flatMap((account) => [
    [account.id, account.name, account.disabled ? 'disabled' : account.role, account.identities.join(' ')],
    ...account.identities
      .filter((identity) => nameOnSurface(identity) !== identity)
      .map((identity) => ['', '', 'in approvers.yaml', JSON.stringify(nameOnSurface(identity))]),
    ...accounts
      .keys(account.id)
      .map(({ keyId, label, lastUsedAt }) => [
        '',
        '',
        `key ${keyId}`,
        `${label} ${usedAt(lastUsedAt)}`.trim(),
      ]),
    ...accounts.programs
      .list(account.id)
      .map(({ programId, name, agent, lastUsedAt }) => [
        '',
        '',
        `program ${programId}`,
        `${name} at ${agent}, ${usedAt(lastUsedAt)}`,
      ]),
  ]);
  for (const { identity, name, role, source } of listed)
    rows.push([
      `(${source})`,
      name,
      role,
      `${identity}${owners.has(identity) ? `, linked to ${owners.get(identity)}` : ''}`,
    ]);
  for (const { identity, display, expiresAt } of pairings)
    rows.push(['(asks)', display, 'guest', `${identity}, until ${new Date(expiresAt).toISOString()}`]);
  if (rows.length === 0)
    console.log(
      'There are no accounts: whoever holds the operator key is the only known person. Add one with "npx trunkline users add NAME".',
    );
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  for (const row of rows)
    console.log(
      visible(
        row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd(),
      ),
    );
  return 0;
}

function usedAt(at: number | undefined): string {
  return at === undefined ? 'never used' : `used ${new Date(at).toISOString()}`;
}

/** Names come from others: nothing in them may move the cursor. */
function visible(line: string): string {
  return line.replace(/\p{Cc}|\p{Cf}/gu, '\ufffd');
}

function titleOf({ id, name }: Account): string {
  return `${name} (${id})`;
}
