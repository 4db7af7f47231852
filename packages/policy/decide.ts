import {
  actsForItself,
  describeOrigins,
  type Origin,
  ownerKey,
  type Principal,
  roleOf,
  schedulesOf,
} from '@trunkline/identity';
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
  /** Whether the last words are a person's, and name this recipient or say yes to handing work to it. */
  isAskedFor?: (recipient: string) => boolean;
  /** Whether the last words are a person's, and the call passes on these and nothing else. */
  repeatsPerson?: () => boolean;
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
export function compilePolicy({
  rules,
  hosts,
  agents,
}: Pick<PolicyConfig, 'rules' | 'hosts' | 'agents'>): Decide {
  const compiled = rules.map((rule, index) => ({
    fitsTool: anyText(rule.tool ?? ['*']),
    fits: compileRule(rule),
    countsFor: (guest: Principal) => rule.decision === 'deny' || namesGuest(rule, guest),
    decision: decisionOf(rule, index),
  }));
  const isAllowedHost = anyOf(hosts.map(hostPattern));
  const relaxed = new Set(Object.keys(agents).filter((name) => agents[name]?.taint === 'relaxed'));
  const delegating = new Set(Object.keys(agents).filter((name) => agents[name]?.delegation === 'relaxed'));
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
    return decideTainted(request, { isAllowedHost, mayHandOn: delegating.has(request.agent) });
  };
}

/** What holds where nobody has written a file. */
export const decideByDefault: Decide = compilePolicy({ rules: [], hosts: [], agents: {} });

export const addressRule = 'default: addresses after outside text';
export const effectsRule = 'default: effects after outside text';

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
  why: 'it stays within these services, which know what was read, and a person has asked for it since or policy.yaml relaxes it',
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

/** A schedule, or a service that acts for itself, speaks for nobody. */
function speaksForPerson({ principal }: PolicyRequest): boolean {
  return !actsForItself(principal) && schedulesOf(principal).length === 0;
}

/** Any next words of a person would do for a page that waits with its order until then: they have to name whom it goes to. */
function isAskedByPerson(request: PolicyRequest): boolean {
  const { origins, subject, isPersonLast, isAskedFor } = request;
  if (subject.recipient === undefined || !speaksForPerson(request)) return false;
  // Descriptions stand before every request, and nothing was read since.
  return (origins.every(isDescription) ? isPersonLast?.() : isAskedFor?.(subject.recipient)) === true;
}

function isDescription({ kind }: Origin): boolean {
  return kind === 'mcp-description' || kind === 'agent-card';
}

/** To the one who wrote all of the outside text go a person's own words, or what a person has it told, so that an agent can ask back. */
function isReply(request: PolicyRequest): boolean {
  const { tool, origins } = request;
  const { recipient } = request.subject;
  if (recipient === undefined || !speaksForPerson(request)) return false;
  if (!request.repeatsPerson?.() && !request.isAskedFor?.(recipient)) return false;
  return origins.every(({ kind, source }) => kind === tool && source === recipient);
}

/** The rules of a turn that has read text from outside: effects ask, and so does the network beyond known addresses. */
function decideTainted(
  request: PolicyRequest,
  { isAllowedHost, mayHandOn }: { isAllowedHost: (host: string) => boolean; mayHandOn: boolean },
): PolicyDecision {
  const { subject, isKnownUrl, origins } = request;
  const changes = effectsOf(request).filter((effect) => effect !== 'reads');
  if (changes.length > 0) {
    const handsOn = changes.every((effect) => effect === 'sends' || effect === 'spends');
    if (handsOn && subject.internal && (mayHandOn || isAskedByPerson(request))) return staysInside;
    if (handsOn && isReply(request)) return repliesToSender;
    return {
      decision: 'ask',
      rule: effectsRule,
      why: `it ${changes.join(', ')}, and ${readWords(origins)}${acceptWords(origins)}${handOnWords(request, handsOn)}`,
    };
  }
  const unknown = allSubjects(subject).find(
    ({ url, host = '' }) => url !== undefined && !isAllowedHost(host) && !isKnownUrl?.(url),
  );
  if (unknown === undefined) return readsOnly;
  return {
    decision: 'ask',
    rule: addressRule,
    why: `nobody named the host ${unknown.host}, the address stood in no text that was read or is one of many, and it may carry data out; this turn has read text from outside (${describeOrigins(origins)})`,
  };
}

function readWords(origins: readonly Origin[]): string {
  if (!origins.every(isDescription))
    return `this turn has read text from outside (${describeOrigins(origins)})`;
  const authors = origins.map(({ source }) => source).join(', ');
  return `the model reads here what ${authors} wrote, which nobody has accepted yet (${describeOrigins(origins)})`;
}

/** What the operator can do about descriptions that mark every turn. */
function acceptWords(origins: readonly Origin[]): string {
  return origins.some(isDescription)
    ? '; the operator can accept the description once on the page /trust, under Policy, or with "npx trunkline policy descriptions", and it is no longer asked about'
    : '';
}

/** What a person can say where nobody can be asked. */
function handOnWords({ subject: { internal, recipient } }: PolicyRequest, handsOn: boolean): string {
  return handsOn && internal && recipient
    ? `; a person who names ${recipient}, or says yes to it, lets it`
    : '';
}

/** A tool that declares nothing may do anything. */
function effectsOf({ effects }: PolicyRequest): readonly Effect[] {
  return effects.length === 0 ? allEffects : effects;
}

function decisionOf({ decision, reason }: Rule, index: number): PolicyDecision {
  const rule = `rules[${index}]`;
  // It becomes part of a sentence.
  const why = reason?.replace(/\.$/, '') ?? `${rule} of policy.yaml says so`;
  return { decision, rule, why };
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
    // Whoever hands work on must not get done there what is held back here.
    conditions.push(
      (request) => fits(request.agent) || (decision !== 'allow' && request.principal.via.some(fits)),
    );
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
    // Rules that were written when schedules were services hold on.
    if (kind === 'schedule' && (fits('service') || fits(ownerKey(principal)))) return true;
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
