// What the routes below /operator answer, for the services that serve them and the page at /trust that shows it.

/** An entry of the audit log. Arguments are kept as a hash only: they may hold secrets and private text. */
export interface AuditEntry {
  sequence: number;
  /** ISO time. */
  at: string;
  service: string;
  action: string;
  subject: string;
  /** `kind:id` of whoever asked first. */
  principal: string;
  /** The services that handed the request on, the first one first. */
  via: string[];
  argumentsHash: string | null;
  decision: string | null;
  /** The policy rule that decided. */
  rule: string | null;
  result: string | null;
  task: string | null;
  /** Hash of the entry before; the first entry has 64 zeros. */
  previous: string;
  hash: string;
}

export interface AuditVerification {
  entries: number;
  /** Hash of the newest entry. Keep a copy elsewhere: whoever can write the file can also rewrite the whole chain. */
  head: string;
  /** The first entry that was changed, or that follows one which was removed; missing while the chain is whole. */
  brokenAt?: number;
}

export interface PolicyVerdict {
  decision: 'allow' | 'ask' | 'deny';
  /** Which rule decided: `rules[2]` of the file, or the name of a default. */
  rule: string;
  why: string;
}

/** A rule of policy.yaml as it counts. */
export interface PolicyRuleView {
  principal?: string[] | undefined;
  agent?: string[] | undefined;
  tool?: string[] | undefined;
  effects?: string[] | undefined;
  arguments?: Record<string, string[] | undefined> | undefined;
  taint?: 'tainted' | 'clean' | undefined;
  decision: PolicyVerdict['decision'];
  reason?: string | undefined;
}

/** What somebody has used of a budget in their hour. */
export interface BudgetUse {
  principal: string;
  agent: string;
  calls: number;
  messages: number;
  usd: number;
  /** When the hour began; milliseconds since 1970. */
  since: number;
}

export interface BudgetView {
  principal?: string[] | undefined;
  agent?: string[] | undefined;
  calls?: number | undefined;
  messages?: number | undefined;
  usd?: number | undefined;
  /** In this service, the heaviest users first. */
  used: BudgetUse[];
}

export interface PolicyToolView {
  name: string;
  effects: readonly string[];
  /** Its output counts as text from outside. */
  external: boolean;
  /** It asks a person by itself, whatever policy says. */
  asksItself: boolean;
  /** What becomes of a call by a member, before and after text from outside. */
  clean: PolicyVerdict;
  tainted: PolicyVerdict;
}

/** What an MCP server or another agent says about itself. */
export interface DescriptionView {
  kind: 'mcp-description' | 'agent-card';
  source: string;
  text: string;
  sha256: string;
  /** One that is new or changed marks every turn that shows it to the model. */
  state: 'new' | 'changed' | 'accepted';
}

/** `GET /operator/policy`. */
export interface PolicyView {
  file: string;
  /** Null while there is no file. */
  text: string | null;
  /** What is wrong with the file; the last good one counts meanwhile. */
  problem?: string | undefined;
  rules: PolicyRuleView[];
  hosts: string[];
  /** Agents for which text from outside changes nothing. */
  relaxed: string[];
  /** Agents that may hand work to the other services after text from outside without a question. */
  delegating: string[];
  budgets: BudgetView[];
  /** Of servers and agents that the operator does not trust as a whole. */
  descriptions: DescriptionView[];
  service: string;
  /** Names under which this service makes calls. */
  agents: string[];
  tools: PolicyToolView[];
}

export interface LineProblem {
  /** Counted from 1. */
  line: number;
  column: number;
  message: string;
}

/** A call to explain, as `trunkline policy test` and `POST /operator/policy/test` take it. */
export interface TriedCall {
  tool: string;
  arguments?: Record<string, unknown> | undefined;
  /** `operator`, `member`, `guest`, `agent`, `service`, `anonymous`, or `person:voice:ava` and the like. */
  principal?: string | undefined;
  agent?: string | undefined;
  /** What the turn has read from outside: `fetch_url https://example.com`. */
  taint?: string[] | undefined;
  /** Of a tool that is not known here; all when left out. */
  effects?: string[] | undefined;
  /** The address was named by whoever asked, or stood in a text that was read. */
  known?: boolean | undefined;
}

export interface ExplainedCall extends PolicyVerdict {
  tool: string;
  principal: string;
  agent: string;
  effects: readonly string[];
  /** What the call is about, as rules see it. */
  subject: Record<string, unknown>;
  tainted: boolean;
}

/** What may be shown of a stored secret. Times are in milliseconds. */
export interface SecretInfo {
  name: string;
  createdAt: number;
  changedAt: number;
  /** To the minute. */
  usedAt: number | null;
  /** The variables and places of files that used it, the latest first. */
  users: { user: string; usedAt: number }[];
}

/** `GET /operator/secrets` */
export interface SecretsView {
  secrets: SecretInfo[];
  /** Where the key that opens them is kept. */
  key: string;
}

/** The people of an installation. Times are milliseconds since 1970. */
export interface AccountsView {
  accounts: {
    id: string;
    name: string;
    role: AccountRole;
    disabled: boolean;
    createdAt: number;
    lastSeenAt?: number;
    /** `discord:1234`, `mail:ava@example.com`, `voice:ava`. */
    identities: string[];
    keys: { keyId: string; label: string; createdAt: number; lastUsedAt?: number }[];
    /** MCP clients that act for the person at an agent. The name is the program's choice. */
    programs: { programId: string; name: string; agent: string; createdAt: number; lastUsedAt?: number }[];
  }[];
  /** Whom files of services list: read-only here. */
  listed: {
    /** The file: `users.yaml`, `keys.yaml`. */
    source: string;
    identity: string;
    name: string;
    role: AccountRole;
    /** The account that the identity is linked to. */
    accountId: string | null;
  }[];
  /** Who asks to be paired, the oldest first. */
  pairings: { identity: string; display: string; requestedAt: number; expiresAt: number }[];
  /** Whether the reader may change owners and operators. */
  isOwner: boolean;
}

export type AccountRole = 'owner' | 'operator' | 'member' | 'guest';

/** `GET /operator/posture`. */
export interface PostureView {
  service: string;
  /** Milliseconds since 1970. */
  checkedAt: number;
  findings: {
    subject: string;
    state: 'ok' | 'warning' | 'failed';
    words: string;
    advice?: string | undefined;
  }[];
}

/** An approval that waits, as pages, the command line and other agents are shown it. */
export interface ApprovalView {
  id: string;
  /** What is asked, as a question in one line. */
  title: string;
  /** What the text is: "command" or "task". */
  noun: string;
  /** Exactly what would run. */
  text: string;
  /** The text with its lines numbered and everything in it made visible. */
  shown: string;
  /** "3 lines, 120 characters". */
  size: string;
  /** Empty where it has none. */
  directory: string;
  /** Why it is asked. */
  reason?: string;
  /** The rule of the policy that asks. */
  rule?: string;
  /** The scripts that it runs. */
  files: readonly { path: string; sha256: string }[];
  /** Why it is asked once more. */
  note?: string;
}
