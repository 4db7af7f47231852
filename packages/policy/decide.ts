import { describeOrigins, type Origin, type Principal, roleOf, schedulesOf } from '@trunkline/identity';
import { effects as allEffects, type CallSubject, type Effect } from '@trunkline/llm';
import { BoundedMap } from '@trunkline/std';
import { commandPattern, hostPattern, pathPattern, textPattern } from './patterns.ts';
import type { PolicyConfig, Rule } from './schema.ts';

/** A tool call before it runs. */
export interface PolicyRequest {
  principal: Principal;
  /** The service, or the agent of the switchboard, that makes the call. */
  agent: string;
  tool: string;
  effects: readonly Effect[];
  subject: CallSubject;
  /** What the turn has read from outside the operator's trust. */
  origins: readonly Origin[];
  /** Whether whoever asked named the host, or exactly this address stood in a text that was read. */
  isKnownUrl?: (url: string) => boolean;
  /** Whether a person has spoken since outside text was read. */
  isPersonLast?: () => boolean;
}

export interface PolicyDecision {
  decision: 'allow' | 'ask' | 'deny';
  /** Which rule decided: `rules[2]` of the file, or the name of a default. */
  rule: string;
  /** For the person who is asked and for the model. */
  why: string;
}

export type Decide = (request: PolicyRequest) => PolicyDecision;

type Fits = (request: PolicyRequest) => boolean;

/** Which rules can fit is remembered for this many tools. */
const KNOWN_TOOLS = 1000;

/** Compiles the rules once. A decision depends on the request alone. */
export function compilePolicy({ rules, hosts, agents }: PolicyConfig): Decide {
  const compiled = rules.map((rule, index) => ({
    fitsTool: anyText(rule.tool ?? ['*']),
    fits: compileRule(rule),
    countsFor: (guest: Principal) => rule.decision === 'deny' || namesGuest(rule, guest),
    decision: decisionOf(rule, index),
  }));
  const isAllowedHost = anyOf(hosts.map(hostPattern));
  const relaxed = new Set(Object.keys(agents).filter((name) => agents[name]?.taint === 'relaxed'));
  const byTool = new BoundedMap<string, typeof compiled>(KNOWN_TOOLS);
  const rulesFor = (tool: string) => {
    const known = byTool.get(tool) ?? compiled.filter(({ fitsTool }) => fitsTool(tool));
    if (!byTool.has(tool)) byTool.set(tool, known);
    return known;
  };
  return (request) => {
    const guest = isGuestEffect(request) ? request.principal : undefined;
    for (const { fits, countsFor, decision } of rulesFor(request.tool))
      if ((guest === undefined || countsFor(guest)) && fits(request)) return decision;
    if (guest !== undefined) return guestEffect;
    if (request.origins.length === 0) return untainted;
    if (relaxed.has(request.agent)) return relaxedAgent;
    return decideTainted(request, isAllowedHost);
  };
}

/** What holds where nobody has written a file. */
export const decideByDefault: Decide = compilePolicy({ rules: [], hosts: [], agents: {}, budgets: [] });

export const addressRule = 'default: addresses after outside text';

const untainted: PolicyDecision = {
  decision: 'allow',
  rule: 'default: no outside text',
  why: 'this turn has read no text from outside',
};
const guestEffect: PolicyDecision = {
  decision: 'deny',
  rule: 'default: guests',
  why: 'guests may only use tools that read; the operator can make them members',
};
const relaxedAgent: PolicyDecision = {
  decision: 'allow',
  rule: 'agents: taint relaxed',
  why: 'policy.yaml lets outside text use the tools of this agent',
};
const readsOnly: PolicyDecision = {
  decision: 'allow',
  rule: 'default: reads',
  why: 'it only reads',
};
const staysInside: PolicyDecision = {
  decision: 'allow',
  rule: 'default: internal',
  why: 'it stays within these services, which know what this turn has read',
};

const repliesToSender: PolicyDecision = {
  decision: 'allow',
  rule: 'default: reply to the sender',
  why: 'a person has spoken since, and all outside text came from the one that it is sent to',
};

function isGuestEffect(request: PolicyRequest): boolean {
  return roleOf(request.principal) === 'guest' && effectsOf(request).some((effect) => effect !== 'reads');
}

/** A rule for everybody, or for people, was not written with strangers in mind: only one that names them gives them effects. */
function namesGuest({ principal = [] }: Rule, { kind, id }: Principal): boolean {
  return principal.some(
    (name) => name === 'guest' || name === 'role:guest' || (name === `${kind}:${id}` && !name.includes('*')),
  );
}

/** A person's next words may go to the one who wrote all of the outside text, so that an agent can ask back. */
function isReply({ tool, subject: { recipient }, origins, isPersonLast }: PolicyRequest): boolean {
  if (recipient === undefined || !isPersonLast?.()) return false;
  return origins.every(({ kind, source }) => kind === tool && source === recipient);
}

/** The rules of a turn that has read text from outside: effects ask, and so does the network beyond known addresses. */
function decideTainted(request: PolicyRequest, isAllowedHost: (host: string) => boolean): PolicyDecision {
  const { subject, isKnownUrl, origins } = request;
  const changes = effectsOf(request).filter((effect) => effect !== 'reads');
  if (changes.length > 0) {
    const handsOn = changes.every((effect) => effect === 'sends' || effect === 'spends');
    if (handsOn && subject.internal) return staysInside;
    if (handsOn && isReply(request)) return repliesToSender;
    return {
      decision: 'ask',
      rule: 'default: effects after outside text',
      why: `it ${changes.join(', ')}, and this turn has read text from outside (${describeOrigins(origins)})`,
    };
  }
  const unknown = allSubjects(subject).find(
    ({ url, host = '' }) => url !== undefined && !isAllowedHost(host) && !isKnownUrl?.(url),
  );
  if (unknown === undefined) return readsOnly;
  return {
    decision: 'ask',
    rule: addressRule,
    why: `nobody named the host ${unknown.host}, the address stood in no text that was read or is one of many of its site, and it may carry data out; this turn has read text from outside (${describeOrigins(origins)})`,
  };
}

/** A tool that declares nothing may do anything. */
function effectsOf({ effects }: PolicyRequest): readonly Effect[] {
  return effects.length === 0 ? allEffects : effects;
}

function decisionOf({ decision, reason }: Rule, index: number): PolicyDecision {
  const rule = `rules[${index}]`;
  return { decision, rule, why: reason ?? `${rule} of policy.yaml says so` };
}

/** What a rule asks for beside the tool. */
function compileRule(rule: Rule): Fits {
  const { principal, agent, tool, effects, arguments: subject, taint, decision } = rule;
  const conditions: Fits[] = [];
  if (principal) {
    const fits = compilePrincipal(principal);
    conditions.push((request) => fits(request.principal));
  }
  if (agent) {
    const fits = anyText(agent);
    conditions.push((request) => fits(request.agent));
  }
  if (effects) conditions.push((request) => effectsOf(request).some((effect) => effects.includes(effect)));
  if (taint) conditions.push(({ origins }) => origins.length > 0 === (taint === 'tainted'));
  if (subject) conditions.push(compileSubject(subject, decision === 'allow'));
  // What a tool of others does with a path or a host is known only to whoever names the tool.
  if (subject && decision === 'allow' && (tool === undefined || tool.includes('*')))
    conditions.push((request) => !request.subject.guessed);
  return (request) => conditions.every((fits) => fits(request));
}

function compileSubject(given: NonNullable<Rule['arguments']>, allows: boolean): Fits {
  const patterns = {
    path: given.path?.map((pattern) => pathPattern(pattern, allows)),
    host: given.host?.map(hostPattern),
    command: given.command?.map((pattern) => commandPattern(pattern, allows)),
    recipient: given.recipient?.map(textPattern),
  };
  const conditions = (['path', 'host', 'command', 'recipient'] as const).flatMap((field): Fits[] => {
    const list = patterns[field];
    if (list === undefined) return [];
    const fits = anyOf(list);
    return [
      ({ subject }) => {
        const values = allSubjects(subject).flatMap((each) => each[field] ?? []);
        return allows ? values.length > 0 && values.every(fits) : values.some(fits);
      },
    ];
  });
  return (request) => conditions.every((fits) => fits(request));
}

function allSubjects(subject: CallSubject): readonly CallSubject[] {
  return subject.others === undefined ? [subject] : [subject, ...subject.others];
}

/**
 * By kind, by kind and id, by role (`guest` or `role:guest`), or by the schedule that started it (`schedule`,
 * `schedule:ID`), whoever it runs for. Nobody but people and operators has a role.
 */
export function compilePrincipal(patterns: readonly string[]): (principal: Principal) => boolean {
  const fits = anyText(patterns);
  return (principal) => {
    const { kind, id } = principal;
    if (fits(kind) || fits(`${kind}:${id}`)) return true;
    const schedules = schedulesOf(principal);
    if (schedules.length > 0 && (fits('schedule') || schedules.some(fits))) return true;
    if (kind !== 'person' && kind !== 'operator' && principal.role === undefined) return false;
    const role = roleOf(principal);
    return fits(role) || fits(`role:${role}`);
  };
}

export function anyText(patterns: readonly string[]): (text: string) => boolean {
  return anyOf(patterns.map(textPattern));
}

function anyOf(list: readonly ((text: string) => boolean)[]): (text: string) => boolean {
  return (text) => list.some((fits) => fits(text));
}
