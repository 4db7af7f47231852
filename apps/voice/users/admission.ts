import type { Accounts } from '@trunkline/accounts';
import { type Environment, followSettings, variableText } from '@trunkline/config';
import { type HttpError, type HttpErrorOptions, isLoopbackHost } from '@trunkline/http';
import { accountIdOf, isDirectAccount, type OperatorAccess, type Principal } from '@trunkline/identity';
import type { Peers } from '@trunkline/service';
import { voiceErrors } from '../errors.ts';
import type { UserDirectory } from './directory.ts';
import { operatorUser, type User } from './user.ts';

export interface AdmissionOptions {
  users: UserDirectory;
  operator: OperatorAccess;
  accounts: Pick<Accounts, 'get'>;
  host: string;
  rosterFile: string;
  /** Undefined for a service that runs alone; then the environment and settings.yaml tell of the others. */
  peers: Peers | undefined;
  env: Environment;
  /** TRUNKLINE_HOME. */
  home: string;
}

/** Admits callers without a key of the roster. */
export interface Admission {
  /** The user that everybody is; undefined if there is a roster, or if only the operator may call. */
  openCaller(): User | undefined;
  /** The user for the operator, somebody with an account, or a principal that a peer names. */
  trustedCaller(principal: Principal): User | undefined;
  /** Why only the operator may call, and what to do about it; else undefined. */
  operatorOnlyBecause(): string | undefined;
  refuse(options: HttpErrorOptions): HttpError;
}

/**
 * Without a roster everybody who reaches the service is its admin. That is right for one person on a machine of their
 * own, and wrong as soon as others reach the service or a service beside it asks for a key: an anonymous caller would
 * go round that key. Then only the operator is answered.
 */
export function createAdmission(options: AdmissionOptions): Admission {
  const { users, operator, rosterFile, env, home } = options;
  const settings = followSettings(home);
  const written = (name: string) => variableText(name, env) ?? settings().get(name)?.text;
  const operatorOnlyBecause = () => {
    if (users.openCaller === undefined || operator.isOpen) return undefined;
    const reason = exposure(options, written);
    return (
      reason &&
      `${reason} Only the operator is answered until ${rosterFile} says who else may call: ${example}`
    );
  };
  return {
    openCaller: () => (operatorOnlyBecause() === undefined ? users.openCaller : undefined),
    trustedCaller(principal) {
      if (isDirectAccount(principal)) return accountUser(principal, options);
      return principal.kind === 'operator' ? (users.openCaller ?? operatorUser) : undefined;
    },
    operatorOnlyBecause,
    refuse(given) {
      if (users.closedBecause !== undefined)
        return voiceErrors.roster_unusable({ reason: users.closedBecause }, given);
      const reason = operatorOnlyBecause();
      return reason === undefined
        ? voiceErrors.unknown_key(given)
        : voiceErrors.operator_only({ reason }, given);
    },
  };
}

/** Somebody with an account: the user of the roster that is linked to it, or a user of their own. */
function accountUser(principal: Principal, { accounts, users }: AdmissionOptions): User | undefined {
  const account = accounts.get(accountIdOf(principal) ?? '');
  if (account === undefined) return undefined;
  const ids = account.identities
    .filter((each) => each.startsWith('voice:'))
    .map((each) => each.slice('voice:'.length));
  const listed = ids.map((id) => users.find(id)).find((user) => user !== undefined);
  if (listed !== undefined) return listed;
  const role = principal.kind === 'operator' ? 'admin' : 'user';
  return { id: principal.id, displayName: account.name, role, allowedSkills: null, pinnedViz: null };
}

const example = 'users: [{ id: ann, api_key: a-long-random-text, role: admin }]';

/** As it is written: a reference to a secret is a key too, whether or not it can be had now. */
type Written = (variable: string) => string | undefined;

function exposure({ host, peers }: AdmissionOptions, written: Written): string | undefined {
  if (!isLoopbackHost(host)) return `Voice listens on ${host} and has no roster of users.`;
  const keyed = (peers?.namesWithKey() ?? []).filter((name) => name !== 'voice');
  if (keyed.length > 0)
    return `Voice has no roster of users, but a key is asked for by: ${keyed.join(', ')}.`;
  const variable = keyVariables(written).find((name) => written(name) !== undefined);
  return variable && `Voice has no roster of users, but ${variable} is set.`;
}

/** Variables that make a service of this installation ask for a key. */
function keyVariables(written: Written): string[] {
  const agentName = written('AGENT_NAME') ?? 'trunkline-agent';
  return [
    'A2A_AUTH_TOKEN',
    'CORE_OPERATOR_TOKEN',
    'RESEARCH_AUTH_TOKEN',
    'SWITCHBOARD_API_KEY',
    `${agentName.toUpperCase().replace(/[^A-Z0-9]/g, '_')}_API_KEY`,
  ];
}
