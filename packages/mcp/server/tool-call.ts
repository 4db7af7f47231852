import { randomUUID } from 'node:crypto';
import type { Principal } from '@trunkline/identity';
import { type AttachedFile, isReadOnly } from '@trunkline/llm';
import type { PolicyRequest } from '@trunkline/policy';
import { errorMessage, untilAborted } from '@trunkline/std';
import { z } from 'zod';
import type {
  McpEndpointOptions,
  ResumedCall,
  ServedResult,
  ServedTool,
  ServedToolContext,
} from './served.ts';

/** What a request carries to the tools it calls. */
export interface Caller {
  principal: Principal;
  /** Aborted when the client's connection breaks. */
  left: AbortSignal;
}

/** A call's way back to its client. */
export interface CallExtra extends Pick<ServedToolContext, 'progress' | 'ask' | 'setResumeHandle'> {
  caller: Caller;
  /** Aborted when the client cancels the call. */
  signal: AbortSignal;
}

/** Calls of MCP clients show under this session, unless the service has others. */
const SESSION_ID = 'mcp';
/** Of the files of one result, as our own client takes them. */
const MAX_FILES = 10;
const MAX_FILE_BYTES = 15 * 2 ** 20;

/** The tool as clients list it. */
export function describeTool(tool: ServedTool) {
  const { name, description, input, external, isLong, startsWork = false } = tool;
  const { $schema: _named, ...inputSchema } = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' });
  return {
    name,
    description,
    inputSchema: { ...inputSchema, type: 'object' as const },
    annotations: {
      ...(isReadOnly(tool) && !startsWork && { readOnlyHint: true }),
      ...(external && { openWorldHint: true }),
    },
    ...(isLong && { execution: { taskSupport: 'optional' as const } }),
  };
}

/** Runs a call between its two events. */
export async function callTool(
  tool: ServedTool,
  input: unknown,
  extra: CallExtra,
  options: McpEndpointOptions,
): Promise<ServedResult> {
  const { name } = tool;
  const toolCallId = randomUUID();
  const start = performance.now();
  const { principal } = extra.caller;
  options.onToolEvent?.({ type: 'tool-start', toolCallId, name, input }, principal);
  const result = await run(tool, input, { extra, toolCallId, options });
  const { text, failed = false } = result;
  const durationMs = Math.round(performance.now() - start);
  options.onToolEvent?.({ type: 'tool-end', toolCallId, name, result: text, failed, durationMs }, principal);
  return result;
}

/** Runs a call until it is done, its time is up or its client has left. Never rejects. */
async function run(
  tool: ServedTool,
  input: unknown,
  { extra, toolCallId, options }: { extra: CallExtra; toolCallId: string; options: McpEndpointOptions },
): Promise<ServedResult> {
  const parsed = await tool.input.safeParseAsync(input);
  if (!parsed.success) return failure(`the arguments do not fit: ${z.prettifyError(parsed.error)}`);
  const call = admit(tool, parsed.data, extra.caller.principal, options);
  if ('refusal' in call) return failure(call.refusal);
  const result = await execute(tool, parsed.data, { extra, toolCallId, options, request: call.request });
  call.record(result.failed ? 'failed' : 'done');
  return result;
}

async function execute(
  tool: ServedTool,
  input: unknown,
  work: { extra: CallExtra; toolCallId: string; options: McpEndpointOptions; request: PolicyRequest },
): Promise<ServedResult> {
  const { extra, toolCallId, options, request } = work;
  const { principal, left } = extra.caller;
  const limitMs = tool.timeoutMs ?? options.toolTimeoutMs();
  const limit = AbortSignal.timeout(limitMs);
  const signal = AbortSignal.any([extra.signal, limit, ...(tool.survivesDisconnect ? [] : [left])]);
  const files: AttachedFile[] = [];
  try {
    const running = tool.execute(input, {
      signal,
      attach: (file) => add(files, file),
      sessionId: sessionOf(principal, options),
      toolCallId,
      principal,
      scope: options.scope?.(principal),
      progress: extra.progress,
      ...(extra.ask && { ask: extra.ask }),
      ...(extra.setResumeHandle && { setResumeHandle: extra.setResumeHandle }),
      permits: (subject) => isPermitted({ ...request, subject }, options),
    });
    const result = await untilAborted(running, signal);
    if (typeof result !== 'string') return result;
    return { text: result, failed: result.startsWith('Error:'), ...(files.length > 0 && { files }) };
  } catch (error) {
    if (limit.aborted) return failure(`${tool.name} took longer than ${limitMs / 1000} s and was stopped.`);
    return failure(errorMessage(error));
  }
}

/** The client gets the file itself, so that there is no text of it to be read out. */
async function add(files: AttachedFile[], file: AttachedFile): Promise<undefined> {
  const bytes = files.reduce((sum, each) => sum + each.bytes.byteLength, file.bytes.byteLength);
  if (files.length === MAX_FILES || bytes > MAX_FILE_BYTES)
    throw new Error(
      `a result may hold ${MAX_FILES} files with ${MAX_FILE_BYTES / 2 ** 20} MB together. Ask for fewer at once.`,
    );
  files.push(file);
}

/** Waits for the work of a call that an earlier process began. Never rejects. */
export async function resumeTool(
  tool: ServedTool | undefined,
  handle: string | null,
  call: ResumedCall,
): Promise<ServedResult> {
  if (tool?.resume === undefined || handle === null)
    return failure('the service was restarted while this ran. Call the tool again.');
  try {
    return await tool.resume(handle, call);
  } catch (error) {
    return failure(errorMessage(error));
  }
}

function requestOf(
  { name, effects, subject }: ServedTool,
  input: unknown,
  principal: Principal,
  { policy }: McpEndpointOptions,
): PolicyRequest {
  const origins = principal.origins ?? [];
  return {
    principal,
    agent: policy?.agent ?? '',
    tool: name,
    effects,
    subject: subject?.(input) ?? {},
    origins,
  };
}

/** Whether a call may reach something else too: a file that a search meets, the target of a redirect. */
function isPermitted(request: PolicyRequest, { policy }: McpEndpointOptions): boolean {
  if (policy === undefined) return true;
  const { decide, check = decide } = policy;
  return check(request).decision === 'allow';
}

type Admitted = { request: PolicyRequest; record(result: string): void } | { refusal: string };

/** Asks policy and books the call. What is refused is recorded here, what runs when it has ended. */
function admit(
  tool: ServedTool,
  input: unknown,
  principal: Principal,
  options: McpEndpointOptions,
): Admitted {
  const { policy } = options;
  const request = requestOf(tool, input, principal, options);
  if (policy === undefined) return { request, record: () => undefined };
  const { name } = tool;
  const { decision, rule, why } = policy.decide(request);
  const sessionId = sessionOf(principal, options);
  const record = (result: string) => policy.record?.({ request, input, decision, rule, result, sessionId });
  const refuse = (result: string, refusal: string) => {
    record(result);
    return { refusal };
  };
  if (decision !== 'allow')
    return refuse(
      decision === 'deny' ? 'refused' : 'nobody could be asked',
      `${name} was not run, because policy does not allow it here: ${why}.`,
    );
  const spent = policy.spend(request);
  return spent === undefined ? { request, record } : refuse('over budget', `${name} was not run: ${spent}.`);
}

function sessionOf(principal: Principal, { sessionId = () => SESSION_ID }: McpEndpointOptions): string {
  return sessionId(principal);
}

function failure(text: string): ServedResult {
  return { text: `Error: ${text}`, failed: true };
}
