import { anonymous, type Origin, type Principal } from '@trunkline/identity';
import type { RunningTool, Tool, ToolContext } from '@trunkline/llm';
import type { PolicyDecision, PolicyRequest } from '@trunkline/policy';
import { z } from 'zod';
import type { AskReason } from './checkpoint.ts';
import type { Content, TurnFiles, UserPart } from './content/content.ts';
import { grantFor, quote } from './grants.ts';
import type { RequestedCall } from './model-step.ts';
import type { Approval, TurnPolicy } from './options.ts';
import type { RepeatedCalls } from './repeated-calls.ts';
import { doubtWords, interruptedRule, type TurnSteps } from './step-log.ts';
import { nobodyToAsk } from './taint.ts';
import type { ToolReports } from './tool-reports.ts';

export interface ToolDeps {
  tools: Map<string, Tool>;
  toolTimeoutMs: number;
  sessionId: string;
  principal?: Principal | undefined;
  scope?: string | undefined;
  timezone?: string | undefined;
  files?: TurnFiles | undefined;
  /** What a call shows to the model, cut to what it may take of the window. */
  attached(contents: readonly Content[]): Promise<UserPart[]>;
  signal: AbortSignal;
  /** Starts the time limit of the turn again. */
  onActivity?: ToolContext['onActivity'];
  repeated: RepeatedCalls;
  policy: TurnPolicy;
  /** What the turn has read from outside before this step. */
  origins(): readonly Origin[];
  isKnownUrl(url: string): boolean;
  isPersonLast(): boolean;
  isAskedFor(call: { tool: Tool; recipient: string }): boolean;
  repeatsPerson(input: unknown): boolean;
  quotesUrl(url: string): boolean;
  /** Calls that a person has allowed for the rest of the turn. */
  grants: Set<string>;
  steps?: TurnSteps | undefined;
  /** Names a call within the turn. */
  placeOf(call: Pick<RequestedCall, 'toolCallId' | 'nth'>): string;
  reports?: ToolReports;
  /** For the call that asked a person in an earlier run. */
  answered?: ToolContext['answered'];
}

/** A call that can run, that waits for an answer from outside, or whose result is known without running it. */
export type Prepared =
  | ({ kind: 'run'; tool: RunningTool } & Decided)
  | { kind: 'wait'; ask?: AskReason }
  | { kind: 'refuse'; result: string; held?: AskReason; isRepeat?: true };

interface Decided {
  request: PolicyRequest;
  input: unknown;
  decided: PolicyDecision;
  ask?: AskReason;
}

/** Checks a call before it is run; every refusal is a text the model can act on. */
export async function prepareCall(
  call: RequestedCall,
  deps: ToolDeps,
  approved?: Approval,
): Promise<Prepared> {
  const { tools } = deps;
  const tool = tools.get(call.name);
  if (tool === undefined) return refuse(`there is no tool named "${call.name}". ${available(tools)}`);
  if (call.unreadable)
    return refuse(`the arguments for ${call.name} are not valid JSON: ${quote(String(call.input))}`);
  const parsed = await tool.input.safeParseAsync(call.input);
  if (!parsed.success)
    return refuse(`the arguments for ${call.name} do not fit: ${z.prettifyError(parsed.error)}`);
  const again = deps.repeated.refuse(call);
  if (again !== undefined) return { kind: 'refuse', result: `Error: ${again}`, isRepeat: true };
  return inDoubt(call, decide(tool, parsed.data, deps, approved), deps);
}

/** The one place where policy meets a tool. A tool that asks a person itself is asked about once, in its own words. */
function decide(tool: Tool, input: unknown, deps: ToolDeps, approved: Approval | undefined): Prepared {
  const { policy, grants } = deps;
  const request = requestOf(tool, input, deps);
  const decided = policy.decide(request);
  const { decision, rule, why } = decided;
  const record = (result: string) => recordCall(deps, { request, input, decided }, result);
  if (decision === 'deny') {
    record('refused');
    return refuse(`${tool.name} was not run, because policy refuses it: ${why}.`, { rule, why });
  }
  if (tool.pause || tool.pausesFor?.(input)) {
    record('waits for a person');
    return { kind: 'wait' };
  }
  if (approved === 'task') grants.add(grantFor(request, input).key);
  if (decision === 'allow' || approved !== undefined) return { kind: 'run', tool, input, request, decided };
  const { key, covers } = grantFor(request, input);
  if (grants.has(key)) return { kind: 'run', tool, input, request, decided };
  const shown = [...deps.tools.values()].flatMap(({ describedIn = [] }) => describedIn);
  const { words = '', ...always } = policy.always?.(request, decided, shown) ?? {};
  const ask = { rule, why: `${why}; "for this task" covers ${covers}${words}`, ...always };
  if (policy.ask === 'pause') {
    record('waits for a person');
    return { kind: 'wait', ask };
  }
  if (policy.ask !== undefined) return { kind: 'run', tool, input, request, decided, ask };
  record('nobody could be asked');
  return refuse(
    `${tool.name} was not run: ${why}, so a person has to allow it, and ${nobodyToAsk}. Say what you wanted to do; the operator can allow it in policy.yaml.`,
    { rule, why },
  );
}

/** Hands a call to the audit log, under the rule that a person was asked by where one was. */
export function recordCall(
  { policy, sessionId }: ToolDeps,
  { request, input, decided, ask }: Decided,
  result: string,
): void {
  const { decision, rule } = ask === undefined ? decided : { decision: 'ask' as const, rule: ask.rule };
  policy.record?.({ request, input, decision, rule, result, sessionId });
}

function requestOf(tool: Tool, input: unknown, deps: ToolDeps): PolicyRequest {
  const { policy, principal = anonymous, isKnownUrl, isPersonLast } = deps;
  const { name, effects = [], subject } = tool;
  return {
    principal,
    agent: policy.agent,
    tool: name,
    effects,
    subject: subject?.(input) ?? {},
    origins: deps.origins(),
    isKnownUrl,
    isPersonLast,
    isAskedFor: (recipient) => deps.isAskedFor({ tool, recipient }),
    repeatsPerson: () => deps.repeatsPerson(input),
  };
}

/** A call that had begun when the process was killed is run again only after a person's yes, whoever allowed it before. */
function inDoubt(call: RequestedCall, prepared: Prepared, deps: ToolDeps): Prepared {
  const { steps, policy } = deps;
  const doubt = prepared.kind === 'run' ? steps?.doubtOf(deps.placeOf(call), prepared.tool) : undefined;
  if (prepared.kind !== 'run' || doubt === undefined) return prepared;
  const { why, refusal } = doubtWords(prepared.tool.name, doubt);
  const held = { rule: interruptedRule, why };
  const ask: AskReason = { ...held, isTaskOnly: true };
  if (doubt === 'unknown' && policy.whenInterrupted?.() === 'fail') {
    const { request, input } = prepared;
    recordCall(deps, { request, input, decided: { decision: 'deny', ...held } }, 'refused');
    return refuse(refusal, held);
  }
  if (typeof policy.ask === 'function') return { ...prepared, ask };
  if (policy.ask === 'pause') {
    recordCall(deps, { ...prepared, ask }, 'waits for a person');
    return { kind: 'wait', ask };
  }
  recordCall(deps, { ...prepared, ask }, 'nobody could be asked');
  return refuse(refusal, held);
}

function refuse(reason: string, held?: AskReason): Prepared {
  return { kind: 'refuse', result: `Error: ${reason}`, ...(held && { held }) };
}

function available(tools: ReadonlyMap<string, Tool>): string {
  return tools.size === 0
    ? 'There are no tools in this conversation.'
    : `There are: ${[...tools.keys()].join(', ')}.`;
}
