import { hash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { ConfigError, type Logger, parseYaml } from '@trunkline/config';
import type { AuditRecorder, Principal } from '@trunkline/identity';
import type { ForeignDescription } from '@trunkline/llm';
import { BoundedMap, errorMessage } from '@trunkline/std';
import { StorageError, writeFileAtomic } from '@trunkline/storage';
import { Budgets } from './budgets.ts';
import {
  compilePolicy,
  type Decide,
  decideByDefault,
  type PolicyDecision,
  type PolicyRequest,
} from './decide.ts';
import {
  type AlwaysEffect,
  alwaysFor,
  type DescriptionHash,
  placeFor,
  ruleFor,
  withDescription,
  withRule,
} from './edit-file.ts';
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

/** A person's answer to the question whether a call may run. */
export interface Consent {
  answeredBy: Principal;
  tool: string;
  /** The arguments as the call has them, so that its own line in the audit log has the same hash. */
  input: unknown;
  /** What the person was shown; its hash is stored. */
  shown: string;
  decision: 'allow' | 'deny';
  /** How far a yes goes. */
  scope: 'once' | 'task' | 'always';
  /** The rule that asked; a tool may ask without one. */
  rule?: string | undefined;
  task: string;
}

const CHECK_MS = 500;
const SETTLE_MS = 2000;
const MAX_TRIES = 5;
const MAX_TOLD = 1000;
const scopeWords = { once: 'once', task: 'for the task', always: 'always' };
const empty: PolicyConfig = { rules: [], hosts: [], agents: {}, descriptions: {}, budgets: [] };

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
  /** A content of the file that is looser than the policy in force, and when it was first seen. */
  #held: { text: string; since: number } | undefined;
  /** Descriptions that nobody has accepted and that the log names. */
  readonly #toldOf = new BoundedMap<string, true>(MAX_TOLD);

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

  /** What was used of each budget in this process. */
  get usage() {
    return this.#budgets.usage();
  }

  /** The file as it is; undefined while there is none. */
  async read(): Promise<string | undefined> {
    return await readFile(this.file, 'utf8').catch(emptyWhenMissing);
  }

  /** What is wrong with a text as the file, each as `file:line:column: message`. */
  problemsOf(text: string): readonly string[] {
    try {
      this.#parse(text);
      return [];
    } catch (error) {
      if (error instanceof ConfigError) return error.problems;
      throw error;
    }
  }

  /**
   * Replaces the file, unless it is no longer what it was `before`: then `file_changed` is thrown. Here it counts at once;
   * the other services see it within seconds.
   */
  async save(text: string, before: string | undefined): Promise<void> {
    const config = this.#parse(text);
    if (before === undefined && (await this.read()) !== undefined)
      throw new StorageError('file_changed', `The file ${this.file} was created meanwhile: read it again.`);
    await writeFileAtomic(this.file, text, before === undefined ? { mode: 0o600 } : { over: before });
    this.#mark = markOf(this.file);
    this.#use(config);
  }

  #parse(text: string): PolicyConfig {
    return parseYaml(text, policySchema, { file: this.file, expand: false });
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
      check: (request: PolicyRequest) => this.decide(request),
      spend: (request: PolicyRequest) => this.spend(request),
      outOfMoney: (principal: Principal, by: string) => this.#outOfMoney(principal, by),
      pay: (principal: Principal, by: string, usd: number) => this.pay(principal, by, usd),
      record: (call: DecidedCall) => this.#record(call),
      always: (request: PolicyRequest, decided: PolicyDecision, shown: readonly ForeignDescription[]) => {
        const unaccepted = shown.filter((description) => !this.isAccepted(description));
        return alwaysFor(request, decided, unaccepted, this.config);
      },
      isAccepted: (description: ForeignDescription) => this.isAccepted(description),
      whenInterrupted: () => this.config.agents[agent]?.interrupted ?? 'ask',
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

  /** Writes down who approved or refused a call, and what they had read before. */
  recordConsent({ answeredBy, tool, input, shown, decision, scope, rule, task }: Consent): void {
    const { audit } = this.#options;
    if (audit === undefined) return;
    const answer = decision === 'deny' ? 'no' : scopeWords[scope];
    const result = `${answer}; SHA-256 of what was shown: ${hash('sha256', shown)}`;
    const event = { service: audit.service, action: 'approval', subject: tool, principal: answeredBy };
    audit.log.record({ ...event, arguments: input, decision, rule, result, task });
  }

  #log({ principal: { kind, id, via }, agent, tool, subject }: PolicyRequest, decided: PolicyDecision): void {
    const principal = { kind, id, via };
    this.#options.logger.info({ principal, agent, tool, subject, ...decided }, 'tool call held by policy');
  }

  /** What would happen to the call. */
  decide(request: PolicyRequest): PolicyDecision {
    this.#refresh();
    const decided = this.#decide(request);
    const isEffect = hasEffects(request);
    if (this.#broken !== undefined && (isEffect || decided.decision !== 'allow'))
      return { decision: 'deny', rule: 'policy.yaml cannot be read', why: this.#broken };
    if (!isEffect || decided.decision === 'deny') return decided;
    const unrecorded = this.#options.audit?.log.refusal?.();
    if (unrecorded === undefined) return decided;
    return { decision: 'deny', rule: 'the audit log cannot be written', why: unrecorded };
  }

  /** Books a call that is about to run; the words say which budget has no room for it. */
  spend({ principal, agent, effects }: PolicyRequest): string | undefined {
    return this.#budgets.spend(
      { principal, agent },
      { calls: 1, messages: effects.includes('sends') ? 1 : 0 },
    );
  }

  #outOfMoney(principal: Principal, agent: string): string | undefined {
    this.#refresh();
    return this.#budgets.outOfMoney({ principal, agent });
  }

  /** Books what a model cost. */
  pay(principal: Principal, agent: string, usd: number): void {
    this.#budgets.pay({ principal, agent }, usd);
  }

  /**
   * Accepts the descriptions that the person was shown, or writes a rule that allows calls like this one from now on, in
   * front of the rule that asks. Returns why not, else undefined; it never throws, so that the call can go on with an
   * approval for its task.
   */
  async allowAlways(
    request: PolicyRequest,
    decided: PolicyDecision & Pick<AlwaysEffect, 'accepts'>,
    reason: string,
  ): Promise<string | undefined> {
    try {
      if (decided.accepts === undefined) await this.#writeRule(request, ruleFor(request, reason));
      for (const description of decided.accepts ?? []) await this.accept(description);
      return undefined;
    } catch (error) {
      const problem = errorMessage(error);
      const { tool } = request;
      this.#options.logger.error(
        { file: this.file, tool, asked: decided.rule, problem },
        'failed to add rule',
      );
      return problem;
    } finally {
      this.#look();
    }
  }

  /** Whether the operator has accepted exactly this text; what nobody accepted is logged once. */
  isAccepted(description: DescriptionHash): boolean {
    const accepted = this.config.descriptions[keyOf(description)] ?? [];
    const { kind, source, sha256 } = description;
    if (accepted.includes(sha256)) return true;
    if (!this.#toldOf.has(sha256)) {
      this.#toldOf.set(sha256, true);
      const advice = 'read and accept it on the page /trust, under Policy';
      const fields = { kind, source, isChanged: accepted.length > 0, advice };
      this.#options.logger.info(fields, 'description not accepted; turns that show it are marked');
    }
    return false;
  }

  /** Whether another text of the same server or agent was accepted before. */
  isChanged(description: DescriptionHash): boolean {
    return !this.isAccepted(description) && this.#config.descriptions[keyOf(description)] !== undefined;
  }

  /** Writes down that the operator accepts what a server or an agent says about itself. */
  async accept(description: DescriptionHash): Promise<void> {
    const key = keyOf(description);
    await this.#edit((before) => withDescription(before, key, description.sha256));
    this.#look();
  }

  async #writeRule(request: PolicyRequest, rule: object): Promise<void> {
    // The operator may have changed the file since the call was asked about.
    await this.#edit((before) => withRule(before, rule, placeFor(request, this.#parse(before ?? ''))));
  }

  async #edit(change: (before: string | undefined) => string): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      this.#look();
      if (this.#problem !== undefined)
        throw new ConfigError(`Nothing was written. Mend policy.yaml first: ${this.#problem}`, []);
      const before = await this.read();
      const text = change(before);
      this.#parse(text);
      try {
        return await writeFileAtomic(
          this.file,
          text,
          before === undefined ? { mode: 0o600 } : { over: before },
        );
      } catch (error) {
        const isChanged = error instanceof StorageError && error.code === 'file_changed';
        if (!isChanged || attempt === MAX_TRIES) throw error;
      }
    }
  }

  #look(): void {
    this.#checkedAt = Number.NEGATIVE_INFINITY;
    this.#refresh();
  }

  /** Looks at the file at most twice a second: a look costs a few microseconds, a watcher a thread. */
  #refresh(): void {
    if (this.#now() - this.#checkedAt < CHECK_MS) return;
    this.#checkedAt = this.#now();
    const mark = markOf(this.file);
    if (mark === this.#mark && this.#isLoaded && this.#held === undefined) return;
    this.#mark = mark;
    this.#isLoaded = true;
    try {
      const text = mark === 'missing' ? '' : readFileSync(this.file, 'utf8');
      const config = this.#parse(text);
      if (this.#isSettled(text, config)) this.#use(config);
    } catch (error) {
      this.#held = undefined;
      this.#refuse(errorMessage(error));
    }
  }

  /** A file that lost what holds calls back may be half written: it counts once it has stayed the same for a while. */
  #isSettled(text: string, config: PolicyConfig): boolean {
    if (!isLooser(config, this.#config)) return true;
    if (this.#held?.text === text) return this.#now() - this.#held.since >= SETTLE_MS;
    this.#held = { text, since: this.#now() };
    this.#refuse(`it lost rules or budgets; it counts if it is still the same after ${SETTLE_MS / 1000} s`);
    return false;
  }

  #use(config: PolicyConfig): void {
    this.#decide = compilePolicy(config);
    this.#config = config;
    this.#budgets.configure(config.budgets);
    this.#broken = undefined;
    if (this.#problem !== undefined) this.#options.logger.info({ file: this.file }, 'policy file mended');
    this.#problem = undefined;
    this.#held = undefined;
    this.#hasGood = true;
  }

  #refuse(problem: string): void {
    this.#problem = problem;
    const stays = this.#hasGood ? 'the last good policy stays' : 'tools with effects are refused';
    this.#options.logger.error({ file: this.file, problem, stays }, 'failed to read policy file');
    if (!this.#hasGood) this.#broken = `Mend policy.yaml first: ${problem}`;
  }
}

function keyOf({ kind, source }: DescriptionHash): string {
  return `${kind} ${source}`;
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

/** Whether rules that ask or deny, or budgets, of the policy before are gone. */
function isLooser(config: PolicyConfig, before: PolicyConfig): boolean {
  const limits = ({ rules, budgets }: PolicyConfig) => [
    ...rules.filter(({ decision }) => decision !== 'allow'),
    ...budgets,
  ];
  const stated = limits(config);
  return limits(before).some((limit) => !stated.some((each) => isDeepStrictEqual(each, limit)));
}

function emptyWhenMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT') return undefined;
  throw error;
}
