import { ConfigError } from '@trunkline/config';
import { type Origin, type Principal, type PrincipalKind, scheduleName } from '@trunkline/identity';
import {
  type CallSubject,
  type Effect,
  guessSubject,
  effects as knownEffects,
  type Tool,
} from '@trunkline/llm';
import type { ExplainedCall, TriedCall } from '@trunkline/std';
import type { PolicyDecision, PolicyRequest } from './decide.ts';
import type { Policy } from './policy.ts';

/** What is to be known of a tool for its calls to be explained. */
export type PolicyTool = Pick<
  Tool,
  'name' | 'effects' | 'external' | 'input' | 'subject' | 'pause' | 'describedIn'
> & {
  pausesFor?(input: never): boolean;
};

/** Says what would happen to a call, and why. Nothing is run, booked or recorded. */
export function explainCall(policy: Policy, call: TriedCall, tools: readonly PolicyTool[]): ExplainedCall {
  const request = requestOf(call, tools);
  const { principal, agent, tool, effects, subject, origins } = request;
  const declared = tools.find(({ name }) => name === tool);
  const decided = policy.decide(request);
  return {
    ...(decided.decision === 'allow' && asksItself(declared, call.arguments ?? {}) ? asksFirst : decided),
    tool,
    principal: principal.kind === 'schedule' ? principal.id : `${principal.kind} ${principal.id}`,
    agent,
    effects,
    subject: shownSubject(subject),
    tainted: origins.length > 0,
  };
}

const asksFirst: PolicyDecision = {
  decision: 'ask',
  rule: 'default: the tool asks by itself',
  why: 'it shows a person exactly what it will do before each call, whatever policy allows',
};

function asksItself(tool: PolicyTool | undefined, input: unknown): boolean {
  if (tool?.pausesFor === undefined) return tool?.pause === true;
  const parsed = tool.input.safeParse(input);
  return !parsed.success || tool.pausesFor(parsed.data as never);
}

function requestOf(call: TriedCall, tools: readonly PolicyTool[]): PolicyRequest {
  const input = call.arguments ?? {};
  const declared = tools.find(({ name }) => name === call.tool);
  return {
    principal: principalOf(call.principal ?? 'operator'),
    agent: call.agent ?? 'trunkline-agent',
    tool: call.tool,
    effects: call.effects === undefined ? (declared?.effects ?? knownEffects) : call.effects.map(effectOf),
    subject: declaredSubject(declared, input) ?? guessSubject(input),
    origins: (call.taint ?? []).flatMap(originOf),
    isKnownUrl: () => call.known ?? false,
  };
}

/** As the call itself would have it. Of a tool that is not known here, or that would refuse the arguments, it is guessed. */
function declaredSubject(tool: PolicyTool | undefined, input: unknown): CallSubject | undefined {
  const parsed = tool?.input.safeParse(input);
  return parsed?.success ? (tool?.subject?.(parsed.data) ?? {}) : undefined;
}

function shownSubject({ guessed: _guessed, others = [], ...first }: CallSubject): Record<string, unknown> {
  const shown: Record<string, unknown> = { ...first };
  for (const [name, value] of others.flatMap((other) => Object.entries(other)))
    shown[name] = name in shown ? `${shown[name]}, ${value}` : value;
  return shown;
}

function principalOf(given: string): Principal {
  // Schedules were services once, and old rules and lines of the log name them so.
  const text = given.replace(/^(?:role:|service:(?=schedule:))/, '');
  if (text === 'guest' || text === 'member') return { kind: 'person', id: text, via: [], role: text };
  if (text === 'owner') return { kind: 'operator', id: text, via: [], role: text };
  if (text === 'schedule' || text.startsWith('schedule:'))
    return { kind: 'schedule', id: scheduleName(text.slice('schedule:'.length)), via: [] };
  const [kind = '', ...id] = text.split(':');
  return { kind: kind as PrincipalKind, id: id.join(':') || kind, via: [] };
}

function effectOf(name: string): Effect {
  const effect = knownEffects.find((known) => known === name.trim());
  if (effect === undefined)
    throw new ConfigError(`There is no effect "${name}":`, [`There are: ${knownEffects.join(', ')}.`]);
  return effect;
}

function originOf(text: string): Origin[] {
  const [kind = '', source = ''] = text.trim().split(/\s+(.*)/s);
  return kind === '' ? [] : [{ kind, source }];
}
