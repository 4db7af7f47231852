// Loaded with the first client: the SDK is among the largest libraries of a service.
import { randomUUID } from 'node:crypto';
import type { AuthInfo } from '@modelcontextprotocol/sdk/server/auth/types.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { WebStandardStreamableHTTPServerTransport as HttpTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CallToolRequestSchema,
  isInitializeRequest,
  ListToolsRequestSchema,
  type ServerNotification,
  type ServerRequest,
} from '@modelcontextprotocol/sdk/types.js';
import { ownerKey, type Principal } from '@trunkline/identity';
import { type CallSubject, type Effect, isReadOnly, type ToolContext } from '@trunkline/llm';
import type { Decide, PolicyRequest } from '@trunkline/policy';
import { errorMessage, untilAborted } from '@trunkline/std';
import { z } from 'zod';

export interface ServedToolContext extends ToolContext {
  /** Reports progress to a client that asked for it; `step` only grows. */
  progress(step: number, message: string): Promise<void>;
}

export interface ServedResult {
  text: string;
  failed?: boolean;
  meta?: Record<string, unknown>;
}

/** A tool for MCP clients. Every running tool of an agent is one; a failure starts with `Error:`. */
export interface ServedTool<Input = unknown> {
  name: string;
  description: string;
  input: z.ZodType<Input>;
  effects: readonly Effect[];
  subject?(input: Input): CallSubject;
  /** Its output comes from outside the operator's trust, such as the web. */
  external?: boolean;
  timeoutMs?: number;
  /** A call goes on when its client's connection breaks, for the result can be found elsewhere. */
  survivesDisconnect?: boolean;
  execute(input: Input, context: ServedToolContext): Promise<string | ServedResult>;
}

export type McpToolEvent =
  | { type: 'tool-start'; toolCallId: string; name: string; input: unknown }
  | {
      type: 'tool-end';
      toolCallId: string;
      name: string;
      result: string;
      failed: boolean;
      durationMs: number;
    };

export interface McpEndpointOptions {
  name: string;
  version: string;
  instructions?: string;
  /** Asked with each request, so that a change of the configuration counts at once. */
  tools: () => readonly ServedTool[];
  /** Limit of a call, unless the tool has its own. */
  toolTimeoutMs: () => number;
  /** Whose memories tools read and write. */
  scope?: string;
  onToolEvent?: (event: McpToolEvent, principal: Principal) => void;
  /** Decides about each call; nobody can be asked, so that what would have to be asked about is refused. */
  policy?:
    | { agent: string; decide: Decide; check?: Decide; spend(request: PolicyRequest): string | undefined }
    | undefined;
}

interface Session {
  transport: HttpTransport;
  owner: string;
  usedAt: number;
  running: number;
}

/** What a request carries to the tools it calls. */
interface Caller {
  principal: Principal;
  /** Aborted when the client's connection breaks. */
  left: AbortSignal;
}

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

const MAX_SESSIONS = 100;
const IDLE_MS = 30 * 60_000;
/** All calls of MCP clients show under this session of the agent. */
const SESSION_ID = 'mcp';

/**
 * Serves tools over streamable HTTP. A client that initializes gets a session, in which it can cancel calls and hear
 * of their progress; a request without one stands for itself and is answered as JSON.
 */
export class McpEndpoint {
  readonly #options: McpEndpointOptions;
  readonly #sessions = new Map<string, Session>();

  constructor(options: McpEndpointOptions) {
    this.#options = options;
  }

  async handle(request: Request, principal: Principal): Promise<Response> {
    const caller: Caller = { principal, left: request.signal };
    const id = request.headers.get('mcp-session-id');
    if (id !== null) return await this.#resume(id, request, caller);
    if (request.method === 'POST' && !(await isInitialize(request))) return await this.#once(request, caller);
    return await this.#begin(request, caller);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map(({ transport }) => transport.close()));
    this.#sessions.clear();
  }

  /** A session is its owner's alone; to others it does not exist. */
  async #resume(id: string, request: Request, caller: Caller): Promise<Response> {
    const session = this.#sessions.get(id);
    // By the protocol, 404 makes the client initialize again.
    if (session === undefined || session.owner !== ownerKey(caller.principal))
      return refusal(404, 'There is no such session. Initialize a new one.');
    session.usedAt = Date.now();
    return await session.transport.handleRequest(request, { authInfo: authInfoOf(caller) });
  }

  async #once(request: Request, caller: Caller): Promise<Response> {
    const transport = new HttpTransport({ enableJsonResponse: true });
    const server = this.#serverFor();
    await server.connect(transport as Transport);
    try {
      return await transport.handleRequest(request, { authInfo: authInfoOf(caller) });
    } finally {
      await server.close();
    }
  }

  async #begin(request: Request, caller: Caller): Promise<Response> {
    if (!(await this.#makeRoom())) return refusal(503, 'There are too many MCP sessions. Try again later.');
    const session: Session = {
      transport: new HttpTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => void this.#sessions.set(id, session),
        onsessionclosed: (id) => void this.#sessions.delete(id),
      }),
      owner: ownerKey(caller.principal),
      usedAt: Date.now(),
      running: 0,
    };
    await this.#serverFor(session).connect(session.transport as Transport);
    return await session.transport.handleRequest(request, { authInfo: authInfoOf(caller) });
  }

  /** Ends sessions that are idle for long, and at the limit the one that is idle longest. */
  async #makeRoom(): Promise<boolean> {
    const idle = [...this.#sessions]
      .filter(([, { running }]) => running === 0)
      .sort(([, left], [, right]) => left.usedAt - right.usedAt);
    const surplus = this.#sessions.size - MAX_SESSIONS + 1;
    for (const [index, [id, { transport, usedAt }]] of idle.entries()) {
      if (index >= surplus && Date.now() - usedAt < IDLE_MS) continue;
      this.#sessions.delete(id);
      await transport.close();
    }
    return this.#sessions.size < MAX_SESSIONS;
  }

  #serverFor(session?: Session): Server {
    const { name, version, instructions, tools } = this.#options;
    const server = new Server(
      { name, version },
      { capabilities: { tools: {} }, ...(instructions !== undefined && { instructions }) },
    );
    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: tools().map(describe) }));
    server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
      if (session) session.running += 1;
      try {
        const tool = tools().find(({ name: offered }) => offered === params.name);
        const {
          text,
          failed = false,
          meta,
        } = tool
          ? await reported(tool, params.arguments ?? {}, extra, this.#options)
          : { text: `Error: there is no tool ${params.name}.`, failed: true };
        const content = [{ type: 'text' as const, text }];
        return { content, isError: failed, ...(meta && { _meta: meta }) };
      } finally {
        if (session) {
          session.running -= 1;
          session.usedAt = Date.now();
        }
      }
    });
    return server;
  }
}

function describe(tool: ServedTool) {
  const { name, description, input, external } = tool;
  const { $schema: _named, ...inputSchema } = z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' });
  return {
    name,
    description,
    inputSchema: { ...inputSchema, type: 'object' as const },
    annotations: {
      ...(isReadOnly(tool) && { readOnlyHint: true }),
      ...(external && { openWorldHint: true }),
    },
  };
}

/** Runs a call between its two events. */
async function reported(
  tool: ServedTool,
  input: unknown,
  extra: Extra,
  options: McpEndpointOptions,
): Promise<ServedResult> {
  const { name } = tool;
  const toolCallId = randomUUID();
  const start = performance.now();
  const { principal } = callerOf(extra.authInfo);
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
  { extra, toolCallId, options }: { extra: Extra; toolCallId: string; options: McpEndpointOptions },
): Promise<ServedResult> {
  const parsed = await tool.input.safeParseAsync(input);
  if (!parsed.success) return failure(`the arguments do not fit: ${z.prettifyError(parsed.error)}`);
  const { principal, left } = callerOf(extra.authInfo);
  const request = requestOf(tool, parsed.data, principal, options);
  const refusal = refusalOf(request, options);
  if (refusal !== undefined) return failure(refusal);
  const limitMs = tool.timeoutMs ?? options.toolTimeoutMs();
  const limit = AbortSignal.timeout(limitMs);
  const signal = AbortSignal.any([extra.signal, limit, ...(tool.survivesDisconnect ? [] : [left])]);
  const { scope } = options;
  const progress = (step: number, message: string) => sendProgress(extra, step, message);
  try {
    const work = tool.execute(parsed.data, {
      signal,
      sessionId: SESSION_ID,
      toolCallId,
      principal,
      scope,
      progress,
      permits: (subject) => isPermitted({ ...request, subject }, options),
    });
    const result = await untilAborted(work, signal);
    return typeof result === 'string' ? { text: result, failed: result.startsWith('Error:') } : result;
  } catch (error) {
    if (limit.aborted) return failure(`${tool.name} took longer than ${limitMs / 1000} s and was stopped.`);
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

function refusalOf(request: PolicyRequest, { policy }: McpEndpointOptions): string | undefined {
  if (policy === undefined) return undefined;
  const { tool: name } = request;
  const { decision, why } = policy.decide(request);
  if (decision !== 'allow') return `${name} was not run, because policy does not allow it here: ${why}.`;
  const spent = policy.spend(request);
  return spent === undefined ? undefined : `${name} was not run: ${spent}.`;
}

async function sendProgress(
  { _meta, sendNotification }: Extra,
  step: number,
  message: string,
): Promise<void> {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return;
  const params = { progressToken, progress: step, message };
  await sendNotification({ method: 'notifications/progress', params });
}

function failure(text: string): ServedResult {
  return { text: `Error: ${text}`, failed: true };
}

/** A body that cannot be read is left to the transport, which says why. */
async function isInitialize(request: Request): Promise<boolean> {
  const body: unknown = await request
    .clone()
    .json()
    .catch(() => undefined);
  return (Array.isArray(body) ? body : [body]).some(isInitializeRequest);
}

/** The SDK hands `authInfo` of a request to its handlers. Our guards have checked the caller already. */
function authInfoOf(caller: Caller): AuthInfo {
  return { token: '', clientId: caller.principal.id, scopes: [], extra: { caller } };
}

function callerOf(authInfo: AuthInfo | undefined): Caller {
  return authInfo?.extra?.caller as Caller;
}

function refusal(status: number, message: string): Response {
  return Response.json({ jsonrpc: '2.0', id: null, error: { code: -32_001, message } }, { status });
}
