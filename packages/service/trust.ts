import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Accounts, mountAccounts } from '@trunkline/accounts';
import { type AuditLog, mountAuditLog } from '@trunkline/audit';
import { type OptionTable, plainVariables, type SecretStore } from '@trunkline/config';
import { type App, describeRoute, requireOperator, servePages } from '@trunkline/http';
import { mountPolicy, type PolicyRoutes } from '@trunkline/policy';
import type { Sandbox } from '@trunkline/sandbox';
import { errorMessage, type PostureView, systemCode } from '@trunkline/std';
import type { Exposure } from './exposure.ts';
import { checkPosture, type PostureInput, type SecurityFinding } from './posture.ts';
import { mountSecrets } from './secrets-routes.ts';
import { mountSettings, type SettingsDeps } from './settings-routes.ts';

/** Built by ensurePages of packages/ui. */
const PAGES = join(import.meta.dirname, '../ui/dist');

export interface TrustDeps extends PolicyRoutes {
  audit: AuditLog;
  secrets: SecretStore;
  accounts: Accounts;
  /** TRUNKLINE_HOME. */
  home: string;
  settings: SettingsDeps['settings'];
  /** How others reach this service and the ports beside it. */
  exposures(): readonly Exposure[];
  sandbox: Pick<Sandbox, 'status'>;
  /** Identities that may approve here beside the operator, and the file that lists them. */
  approvers?(): NonNullable<PostureInput['approvers']>;
  /** Whom the surfaces of this service trust without pairing. */
  senders?(): NonNullable<PostureInput['senders']>;
  /** Programs and servers of this service's configuration, and what was relaxed for them. */
  toolTrust?(): NonNullable<PostureInput['tools']>;
  /** Whether the page is served too; its data always are. */
  hasPage?: boolean;
}

/** The pages at `/trust` and `/setup`, the same on every service, and the routes below `/operator` that they show. Add it before guards and pages. */
export function mountTrust<Caller>(app: App<Caller>, deps: TrustDeps): void {
  mountAuditLog(app, deps.audit, deps.operator);
  mountAccounts(app, deps.accounts, deps.operator);
  mountPolicy(app, deps);
  mountSecrets(app, deps);
  mountSettings(app, deps);
  mountPosture(app, deps);
  if (deps.hasPage === false) return;
  mountSharedPage(app, '/trust', 'people');
  mountSharedPage(app, '/setup', 'model');
}

/** One of the pages that all services share; `first` is the part of it that is shown where none is named. */
function mountSharedPage<Caller>(app: App<Caller>, base: `/${string}`, first: string): void {
  // The page names its assets relative to its address.
  app.use(base, (context, next) =>
    context.req.path === base ? Promise.resolve(context.redirect(`${base}/${first}`)) : next(),
  );
  servePages(app, { directory: PAGES, base, fallback: `${base.slice(1)}.html` });
}

/** Looking at files takes a moment, and several pages ask. */
const FRESH_MS = 30_000;

function mountPosture<Caller>(app: App<Caller>, deps: TrustDeps): void {
  let last: { at: number; view: Promise<PostureView> } | undefined;
  app.get(
    '/operator/posture',
    describeRoute({ summary: 'Weak spots of the installation, as this service sees them' }),
    requireOperator(deps.operator),
    async (context) => {
      if (last === undefined || Date.now() - last.at > FRESH_MS) last = { at: Date.now(), view: look(deps) };
      return context.json(await last.view);
    },
  );
}

async function look(deps: TrustDeps): Promise<PostureView> {
  const { service: name, home, operator, policy, approvers, senders, toolTrust } = deps;
  const findings = await checkPosture({
    home,
    isOpen: operator.isOpen,
    services: deps.exposures(),
    sandbox: await deps.sandbox.status(),
    policy: policy.config,
    ...(toolTrust && { tools: toolTrust() }),
    ...(approvers && { approvers: approvers() }),
    ...(senders && { senders: senders() }),
  });
  const { table, plainSecrets = () => plainSecretsOf(join(process.cwd(), '.env'), table) } = deps.settings;
  const shown = [...findings, plainSecrets(), descriptionsFinding(deps)].map(
    ({ subject, state, words, advice }) => ({
      subject,
      state,
      words,
      advice,
    }),
  );
  return { service: name, checkedAt: Date.now(), findings: shown };
}

/** What MCP servers and agents say about themselves, and nobody has accepted. */
function descriptionsFinding({ policy, tools }: TrustDeps): SecurityFinding {
  const subject = 'descriptions';
  const known = tools().flatMap(({ describedIn = [] }) => describedIn);
  const open = new Set(known.filter((each) => !policy.isAccepted(each)).map(({ source }) => source));
  if (open.size === 0) return { subject, state: 'ok', words: 'none of others waits to be accepted.' };
  return {
    subject,
    state: 'warning',
    words: `nobody has accepted what ${[...open].join(', ')} says about itself, so tools with effects ask in every turn.`,
    advice:
      'Read and accept it on the page /trust, under Policy, or with "npx trunkline policy descriptions".',
  };
}

/** Secrets that a service which runs alone finds in plain text in the environment file. */
export function plainSecretsOf(file: string, table: OptionTable): SecurityFinding {
  const subject = 'plain secrets';
  try {
    const found = plainVariables(readFileSync(file, 'utf8'), file, [table]);
    if (found.length === 0) return { subject, state: 'ok', words: 'none in .env.' };
    return {
      subject,
      state: 'warning',
      words: `${found.length} stand in plain text in ${file}: ${found.map(({ place }) => place).join(', ')}.`,
      advice:
        'Run "npx trunkline secret import" (--dry-run shows what it does), or "npx trunkline audit --fix".',
    };
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return { subject, state: 'ok', words: 'there is no .env.' };
    return { subject, state: 'failed', words: errorMessage(error), advice: 'Mend that, then look again.' };
  }
}
