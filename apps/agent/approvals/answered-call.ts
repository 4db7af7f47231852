import { anonymous, joinOrigins, type Principal, withOrigins } from '@trunkline/identity';
import type { Tool } from '@trunkline/llm';
import {
  type AskReason,
  describedOrigins,
  interruptedRule,
  originsIn,
  parseCheckpoint,
  type TurnEvent,
  type TurnOptions,
  type TurnPolicy,
} from '@trunkline/loop';
import type { Consent, Policy, PolicyRequest } from '@trunkline/policy';
import { readVerdict } from '@trunkline/std';
import { approvalText, changedWords, notApproved, readScope } from '@trunkline/tools';
import { type Approvals, mayAllowAlways, type PendingApproval, type WaitingCall } from './approvals.ts';

/** A person's answer to a call that waited for it. */
export interface AnsweredCall {
  call: WaitingCall;
  approval: PendingApproval;
  text: string;
  answeredBy: Principal;
}

type Options = TurnOptions & { policy: TurnPolicy };

/** The answer as the audit log records it. */
export async function consentOf(
  { call, approval, text, answeredBy }: AnsweredCall,
  tools: readonly Tool[],
): Promise<Omit<Consent, 'task'>> {
  const said = readScope(text);
  // A tool that asks by itself is approved once, and takes a plain yes only.
  const { answer, scope } = call.ask === undefined ? { answer: text, scope: 'once' as const } : said;
  return {
    answeredBy,
    tool: call.name,
    input: await inputOf(call, tools),
    shown: approvalText(approval.subject),
    decision: readVerdict(answer) === 'yes' ? 'allow' : 'deny',
    scope:
      scope === 'always' && (call.ask?.isTaskOnly === true || !mayAllowAlways(answeredBy)) ? 'task' : scope,
    rule: approval.subject.rule,
  };
}

/**
 * Runs a call of a tool that asks by itself after a person's yes. Policy is asked again, because its rules may have
 * changed while the call waited, and its budgets count.
 */
export async function runAnswered(
  { call, approval, text }: AnsweredCall,
  checkpoint: unknown,
  options: Options,
  approvals: Approvals,
): Promise<{ result: string; refused?: true; held?: AskReason; changed?: string | undefined }> {
  const { policy, tools, sessionId, signal = new AbortController().signal } = options;
  const { toolCallId, name } = call;
  const input = await inputOf(call, tools);
  const read = originsIn(parseCheckpoint(checkpoint).messages);
  const request = { ...requestOf(call, options), origins: joinOrigins(read, describedOrigins(options)) };
  const { decision, rule, why } = policy.decide(request);
  const end = (outcome: string, result: string) => {
    policy.record?.({ request, input, decision, rule, result: outcome, sessionId });
    return { result };
  };
  const held = { rule, why };
  if (readVerdict(text) !== 'yes')
    return { ...end('refused by a person', notApproved(text)), refused: true, held };
  if (decision === 'deny')
    return { ...end('refused', `Error: ${name} was not run, because policy refuses it: ${why}.`), held };
  const spent = policy.spend?.(request);
  if (spent !== undefined) return end('over budget', `Error: ${name} was not run: ${spent}.`);
  const principal = withOrigins(request.principal, request.origins);
  const outcome = await approvals.run(call, approval.subject, { ...options, principal, toolCallId, signal });
  if ('changed' in outcome) {
    const changed = changedWords(outcome.changed, approval.subject);
    return { ...end('waits for a person', `Error: ${changed}`), changed };
  }
  return end(outcome.result.startsWith('Error:') ? 'failed' : 'done', outcome.result);
}

/** How a call shows that policy asked about and a person denied. */
export function* deniedCall(
  { toolCallId, name, input, ask: held }: WaitingCall,
  result: string,
): Generator<TurnEvent> {
  const ended = { result, failed: true, durationMs: 0, ...(held && { held }) };
  yield { type: 'tool-start', toolCallId, name, input };
  yield { type: 'tool-end', toolCallId, name, ...ended };
}

/** Writes the rule that an "always" asks for; returns why there is none, else undefined. */
export async function allowAlways(
  call: WaitingCall,
  { kind, id }: Principal,
  options: Options,
  policy: Pick<Policy, 'allowAlways'>,
): Promise<string | undefined> {
  const { ask } = call;
  if (ask === undefined || ask.rule === interruptedRule) return undefined;
  const reason = `approved by ${kind} ${id} on ${new Date().toISOString().slice(0, 10)}`;
  return await policy.allowAlways(requestOf(call, options), { ...ask, decision: 'ask' }, reason);
}

function requestOf({ name, input }: WaitingCall, { tools, policy, principal }: Options): PolicyRequest {
  const tool = tools.find((each) => each.name === name);
  return {
    principal: principal ?? anonymous,
    agent: policy.agent,
    tool: name,
    effects: tool?.effects ?? [],
    subject: tool?.subject?.(input) ?? {},
    origins: [],
  };
}

/** The arguments as the tool reads them: those of its line in the audit log. */
async function inputOf({ name, input }: WaitingCall, tools: readonly Tool[]): Promise<unknown> {
  const parsed = await tools.find((each) => each.name === name)?.input.safeParseAsync(input);
  return parsed?.success ? parsed.data : input;
}
