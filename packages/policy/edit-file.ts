import { joinOrigins, principalName } from '@trunkline/identity';
import type { ForeignDescription } from '@trunkline/llm';
import { errorMessage } from '@trunkline/std';
import { isMap, isSeq, parseDocument } from 'yaml';
import { compilePolicy, effectsRule, type PolicyDecision, type PolicyRequest } from './decide.ts';
import type { PolicyConfig } from './schema.ts';

/** Names what a server or an agent says about itself. */
export type DescriptionHash = Pick<ForeignDescription, 'kind' | 'source' | 'sha256'>;

/** What an "always" does about a call that a person is asked about. */
export interface AlwaysEffect {
  /** For that person; empty where it writes a rule. */
  words: string;
  /** It accepts these descriptions, whole in the words, in place of a rule. */
  accepts?: readonly DescriptionHash[] | undefined;
  /** No rule can be written for the call, so it counts for the task. */
  isTaskOnly?: true;
}

/** In a question; longer descriptions are read and accepted on the page /trust. */
const MAX_SHOWN = 2000;

/** Of one server or agent; the oldest go. Services may know different ones by the same name. */
const MAX_ACCEPTED = 10;

/**
 * Where nothing but descriptions is the reason, accepting them ends the questions; else a rule does, if one can be written.
 * The descriptions are those that the turn shows and nobody has accepted.
 */
export function alwaysFor(
  request: PolicyRequest,
  { rule }: PolicyDecision,
  unaccepted: readonly ForeignDescription[],
  config: PolicyConfig,
): AlwaysEffect {
  const known = [...new Map(unaccepted.map((each) => [each.source + each.sha256, each])).values()];
  const marks = known.flatMap((each) => joinOrigins([each]));
  const isExplained = request.origins.every(({ kind, source }) =>
    marks.some((mark) => mark.kind === kind && mark.source === source),
  );
  const shown = known.map(({ source, text }) => `${source} says ${JSON.stringify(text)}`).join(', ');
  if (rule === effectsRule && known.length > 0 && isExplained && shown.length <= MAX_SHOWN)
    return {
      words: `; "always" accepts for good what is said there: ${shown}`,
      accepts: known.map(({ kind, source, sha256 }) => ({ kind, source, sha256 })),
    };
  try {
    ruleFor(request, '');
    placeFor(request, config);
    return { words: '' };
  } catch (error) {
    return { words: `; "always" counts for this task only: ${errorMessage(error)}`, isTaskOnly: true };
  }
}

/** As narrow as the call: this principal, agent and tool, and the subject it had. */
export function ruleFor({ principal, agent, tool, subject }: PolicyRequest, reason: string) {
  const { path, host, command, recipient } = subject;
  const given = { path, host, command, recipient };
  const isNarrow = !subject.guessed && subject.others === undefined;
  const named = Object.entries(isNarrow ? given : {}).filter(([, value]) => value !== undefined);
  if (named.length === 0)
    throw new Error(
      `No rule can be written for ${tool}: it would allow any arguments. Approve it for each task, or write a rule in policy.yaml.`,
    );
  if ([principal.id, agent, tool, ...named.map(([, value]) => value)].some((text) => text?.includes('*')))
    throw new Error(`No rule can be written for a call of ${tool} with a * in it. Approve it once.`);
  return {
    principal: principalName(principal),
    agent,
    tool,
    arguments: Object.fromEntries(named),
    decision: 'allow',
    reason,
  };
}

/** Before the first rule that asks about the call, with text from outside or without; undefined: behind all rules. */
export function placeFor(request: PolicyRequest, config: PolicyConfig): number | undefined {
  const decide = compilePolicy(config);
  const origins = [[], [{ kind: 'message', source: '' }]];
  const decisions = origins.map((each) => decide({ ...request, origins: each }));
  const denied = decisions.find(({ decision }) => decision === 'deny');
  if (denied)
    throw new Error(`No rule was written for ${request.tool}: ${denied.rule} of policy.yaml denies it.`);
  const places = decisions.flatMap(({ rule }) => /^rules\[(\d+)\]$/.exec(rule)?.[1] ?? []);
  return places.length === 0 ? undefined : Math.min(...places.map(Number));
}

/** The text with one more rule; comments and order stay. */
export function withRule(text: string | undefined, rule: object, index: number | undefined): string {
  const document = documentOf(text);
  const rules = document.get('rules');
  const node = document.createNode(rule);
  if (!isSeq(rules)) document.set('rules', document.createNode([rule]));
  else rules.items.splice(index ?? rules.items.length, 0, node);
  return document.toString();
}

/** The text with one more description that the operator accepts. */
export function withDescription(text: string | undefined, key: string, sha256: string): string {
  const document = documentOf(text);
  const listed = document.getIn(['descriptions', key]);
  const before = isSeq(listed) ? (listed.toJSON() as string[]).filter((each) => each !== sha256) : [];
  if (!isMap(document.get('descriptions'))) document.set('descriptions', document.createNode({}));
  document.setIn(['descriptions', key], document.createNode([...before, sha256].slice(-MAX_ACCEPTED)));
  return document.toString();
}

/** The text as a document that can be changed: comments and order stay. */
function documentOf(text: string | undefined) {
  const document = parseDocument(text ?? '');
  if (document.contents === null) document.contents = document.createNode({}) as never;
  return document;
}
