import { type Accounts, openAccounts } from '@trunkline/accounts';
import { AuditLog } from '@trunkline/audit';
import {
  type Environment,
  type Logger,
  type OptionTable,
  readEnvironment,
  type SecretStore,
  secretStoreOf,
} from '@trunkline/config';
import {
  type OperatorAccess,
  openOperatorAccess,
  operatorAccess,
  type Principal,
  type UseOnce,
} from '@trunkline/identity';
import { createSignIn, type OidcOptions } from '@trunkline/oidc';
import type { SetupView } from '@trunkline/std';
import { neighbours } from './running.ts';
import type { SettingsContext } from './settings-change.ts';

/** Descriptions of the services for the peers that may delegate work to them. */
export const peerRoles: Readonly<Record<'agent' | 'research' | 'voice', string>> = {
  agent: 'Does longer work with tools: files, memory, schedules, the web.',
  research: 'Searches the web and writes reports whose sources are checked.',
  voice: 'The assistant that people talk with; it answers briefly.',
};

/** What starting a service gives: where it is, what it lacks for full function, and the way to stop it. */
export interface Service {
  readonly url: string;
  missing(): readonly Missing[];
  /** Every method and path that it answers. */
  routes(): readonly { method: string; path: string }[];
  stop(): Promise<void>;
  /** Whether callers need a key of this service. */
  requiresKey?(): boolean;
  /** What keeps its model from being used, in words; undefined when nothing does. */
  problem?(): Promise<string | undefined>;
  /** What wins over models.yaml beside the variables. */
  overrides?(): SetupView['overrides'];
}

/** What the starter of a service passes besides its options. */
export interface ServiceContext {
  logger: Logger;
  /** Keeps a secret that was read later than the options out of the log. */
  hide?: (secret: string) => void;
  /** The services that run together with this one and call each other; undefined for one that runs alone. */
  peers?: Peers;
  /** How the operator is recognised; services of one process share it. From the home of the options when not given. */
  operator?: OperatorAccess;
  /** The audit log of the installation; services of one process share it. That of the home of the options when not given. */
  audit?: AuditLog;
  /** The people of the installation; services of one process share them. Those of the home of the options when not given. */
  accounts?: Accounts;
  /** The services that run together with this one, itself included. */
  services?: () => Promise<readonly ServiceLink[]>;
  /** What wins over models.yaml in any of them. */
  overrides?: () => SetupView['overrides'];
  /** Where variables whose names come from data are read; the process's own when not given. */
  env?: Environment;
  /** How the options came to be; flags and other services count only where it is given. */
  settings?: SettingsContext;
  /** The variable to name when the port is taken, where it is not the service's own. */
  portVariable?: string;
}

/** The operator's access that a service was given, or the one of its home. */
export function operatorOf(
  { trunklineHome, trunklineOpen }: { trunklineHome: string; trunklineOpen: boolean },
  context: ServiceContext,
): OperatorAccess {
  const { operator, hide } = context;
  const accounts = accountsOf({ trunklineHome }, context);
  const useOnce: UseOnce = (code, expiresAt) => accounts.useOnce(code, expiresAt);
  const access =
    operator ?? (trunklineOpen ? openOperatorAccess : operatorAccess(trunklineHome, { useOnce }));
  for (const secret of access.secrets) hide?.(secret);
  return access;
}

/** The people that a service was given, or those of its home. */
export function accountsOf(
  { trunklineHome }: { trunklineHome: string },
  { accounts, logger }: ServiceContext,
): Accounts {
  return accounts ?? openAccounts({ home: trunklineHome, logger });
}

/** Where people sign in beside keys, if the settings name a provider. */
export function signInOf(options: OidcOptions & { trunklineHome: string }, context: ServiceContext) {
  if (options.oidcIssuer !== undefined && options.oidcClientId === undefined)
    context.logger.warn({}, 'OIDC_ISSUER is set without OIDC_CLIENT_ID, so nobody can sign in there');
  return createSignIn(options, accountsOf(options, context));
}

/** The audit log that a service was given, or the one of its home. */
export function auditOf(
  { trunklineHome: home, auditRetentionDays: retentionDays, auditRequired: isRequired }: AuditOptions,
  { audit, logger }: ServiceContext,
): AuditLog {
  return audit ?? new AuditLog({ home, retentionDays, isRequired, logger });
}

interface AuditOptions {
  trunklineHome: string;
  auditRetentionDays: number;
  auditRequired: boolean;
}

/** The stored secrets of the home of the options, and of no other that the environment may name. */
export function secretsOf(
  { trunklineHome }: { trunklineHome: string },
  { env = readEnvironment() }: Pick<ServiceContext, 'env'>,
): SecretStore {
  return secretStoreOf({ ...env, TRUNKLINE_HOME: trunklineHome });
}

/** What a service tells about its settings: its table, and where the values come from. */
export function settingsOf(table: OptionTable, { env, settings }: ServiceContext) {
  return { ...settings, table, env: env ?? readEnvironment() };
}

/** A service of the same installation, as pages link to it. */
export interface ServiceLink {
  name: string;
  url: string;
  /** `degraded`: it runs, but its model cannot be used. `stopped`: it was there, and nothing answers now. */
  state: 'live' | 'degraded' | 'stopped';
}

/** The services that a service was told of, or those that run from the same home by themselves. */
export function servicesOf(
  { trunklineHome }: { trunklineHome: string },
  { services }: Pick<ServiceContext, 'services'>,
): () => Promise<readonly ServiceLink[]> {
  return services ?? (() => neighbours(trunklineHome));
}

interface Models<Description> {
  describe(): Description;
  problem(): Promise<{ message: string; code?: string | undefined } | undefined>;
}

/**
 * The model as `/healthz` tells it: with what keeps it from being used, where something does. What the endpoint said, and
 * which models it has, is not for strangers of a service that asks for a key.
 */
export async function modelStatus<Description extends object>(
  models: Models<Description>,
  { asker, requiresKey }: { asker: Principal; requiresKey: boolean },
): Promise<Description & { problem?: string }> {
  const problem = await models.problem();
  if (problem === undefined) return models.describe();
  const words = `The model cannot be used (${problem.code ?? 'unknown'}). The operator is told why.`;
  const isStranger = requiresKey && asker.kind === 'anonymous';
  return { ...models.describe(), problem: isStranger ? words : problem.message };
}

/** The services of one installation, as they call each other. */
export interface Peers {
  /** Peers accept it from each other, whatever keys are set besides. */
  serviceToken: string;
  /** The agent's name in schedules. */
  agentName: string;
  /** A peer that runs. */
  find(name: string): ServiceLink | undefined;
  /** Names of peers that ask their callers for a key, also of those that restart. */
  namesWithKey(): string[];
  /** Called whenever a peer has started. */
  onChange(listener: () => void): void;
}

/** Origins of the running peers, which may call each other from a browser. */
export function peerOrigins(peers: Peers | undefined): string[] {
  const names = ['voice', 'agent', 'research', 'switchboard'];
  return names.flatMap((name) => peers?.find(name)?.url ?? []).map((url) => new URL(url).origin);
}

/** Something that would make a service do more, the variable that brings it, and what to do. */
export interface Missing {
  what: string;
  variable: string;
  hint: string;
}

/** What every service lacks on a fresh machine: a real model. */
export function missingModel({ demo }: { demo: boolean }): Missing[] {
  if (!demo) return [];
  const hint =
    'The offline demo model answers until you choose one at /setup/model or with "npx trunkline init".';
  return [{ what: 'Model', variable: 'LLM_GATEWAY_URL', hint }];
}

/** What a service lacks whose newest settings do not count. The reason is for the operator, this for everybody. */
export function missingSettings({ settings }: ServiceContext): Missing[] {
  if (settings?.problem?.() === undefined) return [];
  const hint =
    'The newest settings in settings.yaml cannot be used, the last good ones stay; GET /operator/settings says why.';
  return [{ what: 'Settings', variable: 'settings.yaml', hint }];
}

/** One finding of `trunkline doctor`: what was looked at, how it is, and what to do about it. */
export interface Diagnosis {
  subject: string;
  state: 'ok' | 'warning' | 'failed';
  words: string;
  advice?: string;
}
