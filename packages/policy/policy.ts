import { readFileSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Logger, parseYaml } from '@trunkline/config';
import type { AuditRecorder, Principal } from '@trunkline/identity';
import { errorMessage } from '@trunkline/std';
import { StorageError, writeFileAtomic } from '@trunkline/storage';
import { isSeq, parseDocument } from 'yaml';
import { Budgets } from './budgets.ts';
import {
  compilePolicy,
  type Decide,
  decideByDefault,
  type PolicyDecision,
  type PolicyRequest,
} from './decide.ts';
import { type PolicyConfig, policySchema } from './schema.ts';

export interface PolicyOptions {
  /** TRUNKLINE_HOME: holds `policy.yaml`. */
  home: string;
  logger: Pick<Logger, 'info' | 'error'>;
  /** Gets every call that has effects or is held, with the service's name. */
  audit?: { service: string; log: AuditRecorder };
  now?: () => number;
}

/** A call of a tool, what was decided about it, and how it ended so far. */
export interface DecidedCall {
  request: PolicyRequest;
  input: unknown;
  decision: PolicyDecision['decision'];
  rule: string;
  result: string;
  sessionId: string;
}

const CHECK_MS = 500;
const MAX_TRIES = 5;
const empty: PolicyConfig = { rules: [], hosts: [], agents: {}, budgets: [] };

/** The operator's policy: `policy.yaml`, read again whenever it changes. */
export class Policy {
  readonly file: string;
  readonly #options: PolicyOptions;
  readonly #budgets: Budgets;
  readonly #now: () => number;
  #config: PolicyConfig = empty;
  #decide: Decide = decideByDefault;
  /** Why the file cannot be used, while no good one was read. */
  #broken: string | undefined;
  #problem: string | undefined;
  #isLoaded = false;
  #hasGood = false;
  #checkedAt = Number.NEGATIVE_INFINITY;
  #mark: string | undefined;

  constructor(options: PolicyOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#budgets = new Budgets(this.#now);
    this.file = join(options.home, 'policy.yaml');
    this.#refresh();
  }

  /** What the file says; what it said last while it cannot be read. */
  get config(): PolicyConfig {
    this.#refresh();
    return this.#config;
  }

  /** What is wrong with the file as it is now. */
  get problem(): string | undefined {
    this.#refresh();
    return this.#problem;
  }

  /** The policy for the turns of an agent; what it does not allow at once is logged. */
  for(agent: string) {
    return {
      agent,
      decide: (request: PolicyRequest): PolicyDecision => {
        const decided = this.decide(request);
        if (decided.decision !== 'allow') this.#log(request, decided);
        return decided;
      },
      spend: (request: PolicyRequest) => this.spend(request),
      pay: (principal: Principal, by: string, usd: number) => this.pay(principal, by, usd),
      record: (call: DecidedCall) => this.#record(call),
    };
  }

  /** Reads that are allowed are left out: they are many, and change nothing. */
  #record({ request, input, decision, rule, result, sessionId }: DecidedCall): void {
    const { audit } = this.#options;
    if (audit === undefined || (decision === 'allow' && !hasEffects(request))) return;
    const { principal, tool } = request;
    const event = { service: audit.service, action: 'tool.call', subject: tool, principal };
    audit.log.record({ ...event, arguments: input, decision, rule, result, task: sessionId });
  }

  #log({ principal: { kind, id, via }, agent, tool, subject }: PolicyRequest, decided: PolicyDecision): void {
    const principal = { kind, id, via };
    this.#options.logger.info({ principal, agent, tool, subject, ...decided }, 'tool call held by policy');
  }

  /** What would happen to the call. */
  decide(request: PolicyRequest): PolicyDecision {
    this.#refresh();
    const decided = this.#decide(request);
    if (this.#broken === undefined || (!hasEffects(request) && decided.decision === 'allow')) return decided;
    return { decision: 'deny', rule: 'policy.yaml cannot be read', why: this.#broken };
  }

  /** Books a call that is about to run; the words say which budget has no room for it. */
  spend({ principal, agent, effects }: PolicyRequest): string | undefined {
    return this.#budgets.spend(
      { principal, agent },
      { calls: 1, messages: effects.includes('sends') ? 1 : 0 },
    );
  }

  /** Books what a model cost. */
  pay(principal: Principal, agent: string, usd: number): void {
    this.#budgets.pay({ principal, agent }, usd);
  }

  /** Writes a rule that allows calls like this one from now on, in front of the rule that asked. */
  async allowAlways(request: PolicyRequest, decided: PolicyDecision, reason: string): Promise<void> {
    const rule = ruleFor(request, reason);
    for (let attempt = 1; ; attempt += 1) {
      const before = await readFile(this.file, 'utf8').catch(emptyWhenMissing);
      const text = withRule(before, rule, indexOf(decided));
      parseYaml(text, policySchema, { file: this.file, expand: false });
      try {
        await writeFileAtomic(this.file, text, before === undefined ? { mode: 0o600 } : { over: before });
        break;
      } catch (error) {
        const isChanged = error instanceof StorageError && error.code === 'file_changed';
        if (!isChanged || attempt === MAX_TRIES) throw error;
      }
    }
    this.#checkedAt = Number.NEGATIVE_INFINITY;
    this.#refresh();
  }

  /** Looks at the file at most twice a second: a look costs a few microseconds, a watcher a thread. */
  #refresh(): void {
    if (this.#now() - this.#checkedAt < CHECK_MS) return;
    this.#checkedAt = this.#now();
    const mark = markOf(this.file);
    if (mark === this.#mark && this.#isLoaded) return;
    this.#mark = mark;
    this.#isLoaded = true;
    try {
      const text = mark === 'missing' ? '' : readFileSync(this.file, 'utf8');
      this.#use(parseYaml(text, policySchema, { file: this.file, expand: false }));
    } catch (error) {
      this.#refuse(errorMessage(error));
    }
  }

  #use(config: PolicyConfig): void {
    this.#decide = compilePolicy(config);
    this.#config = config;
    this.#budgets.configure(config.budgets);
    this.#broken = undefined;
    if (this.#problem !== undefined) this.#options.logger.info({ file: this.file }, 'policy file mended');
    this.#problem = undefined;
    this.#hasGood = true;
  }

  #refuse(problem: string): void {
    this.#problem = problem;
    const stays = this.#hasGood ? 'the last good policy stays' : 'tools with effects are refused';
    this.#options.logger.error({ file: this.file, problem, stays }, 'failed to read policy file');
    if (!this.#hasGood) this.#broken = `Mend policy.yaml first: ${problem}`;
  }
}

/** A tool that declares nothing may do anything. */
function hasEffects({ effects }: PolicyRequest): boolean {
  return effects.length === 0 || effects.some((effect) => effect !== 'reads');
}

function markOf(file: string): string {
  try {
    const { ino, size, mtimeMs, ctimeMs } = statSync(file);
    return `${ino} ${size} ${mtimeMs} ${ctimeMs}`;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'missing';
    throw error;
  }
}

/** As narrow as the call: this principal, agent and tool, and the subject it had. */
function ruleFor({ principal, agent, tool, subject }: PolicyRequest, reason: string) {
  const { path, host, command, recipient } = subject;
  const given = { path, host, command, recipient };
  const named = Object.entries(given).filter(([, value]) => value !== undefined);
  if (named.some(([, value]) => value?.includes('*')))
    throw new Error(`No rule can be written for a call of ${tool} with a * in it. Approve it once.`);
  return {
    principal: `${principal.kind}:${principal.id}`,
    agent,
    tool,
    ...(named.length > 0 && { arguments: Object.fromEntries(named) }),
    decision: 'allow',
    reason,
  };
}

function indexOf({ rule }: PolicyDecision): number | undefined {
  const [, index] = /^rules\[(\d+)\]$/.exec(rule) ?? [];
  return index === undefined ? undefined : Number(index);
}

/** The text with one more rule; comments and order stay. */
function withRule(text: string | undefined, rule: object, index: number | undefined): string {
  const document = parseDocument(text ?? '');
  if (document.contents === null) document.contents = document.createNode({}) as never;
  const rules = document.get('rules');
  const node = document.createNode(rule);
  if (!isSeq(rules)) document.set('rules', document.createNode([rule]));
  else rules.items.splice(index ?? rules.items.length, 0, node);
  return document.toString();
}

function emptyWhenMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT') return undefined;
  throw error;
}
