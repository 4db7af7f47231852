import { type AppEnv, describeRoute, requireOperator, validate } from '@trunkline/http';
import { accountIdOf, type OperatorAccess, type Principal, type Role } from '@trunkline/identity';
import type { AccountsView } from '@trunkline/std';
import type { Hono } from 'hono';
import { z } from 'zod';
import type { Account } from './account.ts';
import type { Accounts } from './accounts.ts';
import { accountErrors } from './errors.ts';

const role = z.enum(['owner', 'operator', 'member', 'guest']);
const name = z.string().max(200);
const identity = z.string().max(400);
const target = z.union([z.strictObject({ accountId: z.string() }), z.strictObject({ name, role })]);
const approval = z.strictObject({
  pairing: z.union([z.strictObject({ code: z.string().max(40) }), z.strictObject({ identity })]),
  account: target,
});

/** The people of the whole installation, for its operator; every service serves the same. */
export function mountAccounts<Caller>(
  app: Hono<AppEnv<Caller>>,
  accounts: Accounts,
  operator: OperatorAccess,
): void {
  const rules = (context: { get(key: 'principal'): Principal }) =>
    new ChangeRules(accounts, operator.isOpen ? undefined : context.get('principal'));
  app.use('/operator/accounts', requireOperator(operator));
  app.use('/operator/accounts/*', requireOperator(operator));

  app.get(
    '/operator/accounts',
    describeRoute({ summary: 'Accounts, listed people and open pairings' }),
    (context) => context.json<AccountsView>(viewOf(accounts, rules(context))),
  );
  app.post(
    '/operator/accounts',
    describeRoute({ summary: 'Create an account' }),
    validate('json', z.strictObject({ name, role, identities: z.array(identity).max(20).optional() })),
    (context) => {
      const { identities = [], ...given } = context.req.valid('json');
      rules(context).allow(undefined, given.role);
      const account = accounts.create({ ...given, identities });
      context.set('change', `created ${titleOf(account)} as ${account.role}`);
      return context.json(account, 201);
    },
  );
  app.patch(
    '/operator/accounts/:id',
    describeRoute({ summary: 'Change the name or role of an account, or disable it' }),
    validate(
      'json',
      z.strictObject({ name: name.optional(), role: role.optional(), disabled: z.boolean().optional() }),
    ),
    (context) => {
      const given = context.req.valid('json');
      const isOwnName = given.role === undefined && given.disabled === undefined;
      const before = rules(context).find(context.req.param('id'), given.role, isOwnName);
      const change = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
      const account = accounts.update(before.id, change);
      context.set('change', `${titleOf(before)}: ${JSON.stringify(change)}`);
      return context.json(account);
    },
  );
  app.delete(
    '/operator/accounts/:id',
    describeRoute({ summary: 'Remove an account with its keys' }),
    (context) => {
      const account = rules(context).find(context.req.param('id'));
      accounts.remove(account.id);
      context.set('change', `removed ${titleOf(account)}`);
      return context.json({ removed: account.id });
    },
  );
  mountKeys(app, accounts, rules);
  mountPairings(app, accounts, rules);
}

type RulesOf = (context: { get(key: 'principal'): Principal }) => ChangeRules;

function mountKeys<Caller>(app: Hono<AppEnv<Caller>>, accounts: Accounts, rules: RulesOf): void {
  app.post(
    '/operator/accounts/:id/keys',
    describeRoute({ summary: 'Create a key of an account; it is shown this once' }),
    validate('json', z.strictObject({ label: z.string().max(200).default('') })),
    (context) => {
      const account = rules(context).find(context.req.param('id'), undefined, true);
      const created = accounts.createKey(account.id, context.req.valid('json').label);
      context.set('change', `created key ${created.keyId} of ${titleOf(account)}`);
      context.header('cache-control', 'no-store');
      return context.json(created, 201);
    },
  );
  app.delete('/operator/accounts/:id/keys/:keyId', describeRoute({ summary: 'Revoke a key' }), (context) => {
    const account = rules(context).find(context.req.param('id'), undefined, true);
    const keyId = context.req.param('keyId');
    if (accounts.accountOfKey(keyId)?.id !== account.id) throw accountErrors.key_unknown({ keyId });
    accounts.revokeKey(keyId);
    context.set('change', `revoked key ${keyId} of ${titleOf(account)}`);
    return context.json({ revoked: keyId });
  });
  app.delete(
    '/operator/accounts/:id/programs/:programId',
    describeRoute({ summary: 'Disconnect a program that an account has allowed' }),
    (context) => {
      const account = rules(context).find(context.req.param('id'), undefined, true);
      const programId = context.req.param('programId');
      const { programs } = accounts;
      if (programs.accountOfProgram(programId) !== account.id)
        throw accountErrors.program_unknown({ programId });
      programs.disconnect(programId);
      context.set('change', `disconnected program ${programId} of ${titleOf(account)}`);
      return context.json({ disconnected: programId });
    },
  );
  app.delete(
    '/operator/accounts/:id/sessions',
    describeRoute({ summary: 'Sign an account out everywhere, and disconnect its programs' }),
    (context) => {
      const account = rules(context).find(context.req.param('id'), undefined, true);
      accounts.endSessions(account.id);
      context.set('change', `ended the sessions of ${titleOf(account)}`);
      return context.json({ ended: account.id });
    },
  );
  app.post(
    '/operator/accounts/:id/identities',
    describeRoute({ summary: 'Link an identity to an account' }),
    validate('json', z.strictObject({ identity })),
    (context) => {
      const account = rules(context).find(context.req.param('id'));
      const given = context.req.valid('json').identity;
      context.set('change', `linked ${given} to ${titleOf(account)}`);
      return context.json(accounts.link(account.id, given), 201);
    },
  );
  app.delete(
    '/operator/accounts/:id/identities',
    describeRoute({ summary: 'Unlink an identity from its account' }),
    validate('query', z.object({ identity })),
    (context) => {
      const account = rules(context).find(context.req.param('id'), undefined, true);
      const given = context.req.valid('query').identity;
      if (accounts.byIdentity(given)?.id !== account.id)
        throw accountErrors.identity_unknown({ identity: given });
      accounts.unlink(given);
      context.set('change', `unlinked ${given} from ${titleOf(account)}`);
      return context.json({ unlinked: given });
    },
  );
}

function mountPairings<Caller>(app: Hono<AppEnv<Caller>>, accounts: Accounts, rules: RulesOf): void {
  app.get(
    '/operator/accounts/pairings',
    describeRoute({ summary: 'Open requests to be paired' }),
    (context) => context.json({ pairings: accounts.pairings() }),
  );
  app.post(
    '/operator/accounts/pairings/approve',
    describeRoute({ summary: 'Pair whoever asked with an account, or with a new one' }),
    validate('json', approval),
    (context) => {
      const { pairing, account: given } = context.req.valid('json');
      if ('accountId' in given) rules(context).find(given.accountId);
      else rules(context).allow(undefined, given.role);
      const account = accounts.approvePairing(pairing, given);
      context.set(
        'change',
        `paired ${'identity' in pairing ? pairing.identity : 'by code'} with ${titleOf(account)}`,
      );
      return context.json(account);
    },
  );
  app.post(
    '/operator/accounts/pairings/refuse',
    describeRoute({ summary: 'Refuse a request to be paired' }),
    validate('json', z.strictObject({ identity })),
    (context) => {
      const given = context.req.valid('json').identity;
      accounts.refusePairing(given);
      context.set('change', `refused to pair ${given}`);
      return context.json({ refused: given });
    },
  );
}

/**
 * Who may change which account. Owners, and whoever holds the operator's key, all. An operator those of members and
 * guests; of their own account the name, keys, sessions and what is linked to it already.
 */
class ChangeRules {
  readonly #accounts: Accounts;
  readonly #own: string | undefined;
  readonly isOwner: boolean;

  constructor(accounts: Accounts, actor: Principal | undefined) {
    this.#accounts = accounts;
    this.#own = actor && accountIdOf(actor);
    this.isOwner = actor?.role === undefined || actor.role === 'owner';
  }

  /** The account, if it may be changed. */
  find(id: string, newRole?: Role, isOwnAllowed = false): Account {
    const account = this.#accounts.get(id);
    if (account === undefined) throw accountErrors.account_unknown({ id });
    if (!(isOwnAllowed && account.id === this.#own)) this.allow(account.role, newRole);
    return account;
  }

  allow(...roles: (Role | undefined)[]): void {
    const isPrivileged = roles.some((each) => each === 'owner' || each === 'operator');
    if (isPrivileged && !this.isOwner) throw accountErrors.owner_required();
  }
}

function viewOf(accounts: Accounts, { isOwner }: ChangeRules): AccountsView {
  const all = accounts.list();
  const holders = new Map(all.flatMap(({ id, identities }) => identities.map((each) => [each, id] as const)));
  return {
    accounts: all.map((account) => ({
      ...account,
      keys: accounts.keys(account.id),
      programs: accounts.programs.list(account.id),
    })),
    listed: accounts
      .listed()
      .map((person) => ({ ...person, accountId: holders.get(person.identity) ?? null })),
    pairings: accounts.pairings(),
    isOwner,
  };
}

function titleOf({ id, name: given }: Account): string {
  return `${given} (${id})`;
}
