// Loaded with the first client: the SDK is among the largest libraries of a service.
import { randomUUID } from 'node:crypto';
import { InMemoryTaskMessageQueue } from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js';
import type { AuthInfo } from '@modelcontextprotocol/sdk/server/auth/types.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { WebStandardStreamableHTTPServerTransport as HttpTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CallToolRequestSchema,
  type ContentBlock,
  ElicitResultSchema,
  ErrorCode,
  isInitializeRequest,
  ListResourcesRequestSchema,
  ListToolsRequestSchema,
  McpError,
  ReadResourceRequestSchema,
  type ServerNotification,
  type ServerRequest,
} from '@modelcontextprotocol/sdk/types.js';
import { ownerKey, type Principal } from '@trunkline/identity';
import type { AttachedFile } from '@trunkline/llm';
import { Mutex } from '@trunkline/std';
import type {
  McpEndpointOptions,
  ServedAnswer,
  ServedQuestion,
  ServedResources,
  ServedResult,
} from './served.ts';
import { MAX_TASK_MS, StoredTasks } from './stored-tasks.ts';
import { type CallExtra, type Caller, callTool, describeTool, resumeTool } from './tool-call.ts';

interface Session {
  transport: HttpTransport;
  owner: string;
  usedAt: number;
  running: number;
}

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

const MAX_SESSIONS = 100;
/** So that nobody ends the sessions of others by opening many. */
const MAX_OWN_SESSIONS = 20;
const IDLE_MS = 30 * 60_000;
/** A person has this long to answer a question. */
const ANSWER_MS = 15 * 60_000;

/**
 * Serves tools over streamable HTTP. A client that initializes gets a session, in which it can cancel calls and hear
 * of their progress; a request without one stands for itself and is answered as JSON.
 */
export class McpEndpoint {
  readonly #options: McpEndpointOptions;
  readonly #sessions = new Map<string, Session>();
  readonly #tasks: StoredTasks;
  /** One session is opened after the other: a session counts once it is open, so that many at once would pass the limits. */
  readonly #opening = new Mutex();

  constructor(options: McpEndpointOptions) {
    this.#options = options;
    this.#tasks = new StoredTasks(options.tasksFile ?? ':memory:');
  }

  async handle(request: Request, principal: Principal): Promise<Response> {
    const caller: Caller = { principal, left: request.signal };
    this.#resumeTasks(caller);
    const id = request.headers.get('mcp-session-id');
    if (id !== null) return await this.#resume(id, request, caller);
    if (request.method === 'POST' && !(await isInitialize(request))) return await this.#once(request, caller);
    return await this.#opening.run(() => this.#begin(request, caller));
  }

  async close(): Promise<void> {
    this.#tasks.close();
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
    const server = this.#serverFor(caller);
    await server.connect(transport as Transport);
    try {
      return await transport.handleRequest(request, { authInfo: authInfoOf(caller) });
    } finally {
      await server.close();
    }
  }

  async #begin(request: Request, caller: Caller): Promise<Response> {
    const owner = ownerKey(caller.principal);
    if (!(await this.#makeRoom(owner)))
      return refusal(503, 'There are too many MCP sessions. End some, or try again later.');
    const session: Session = {
      transport: new HttpTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => void this.#sessions.set(id, session),
        onsessionclosed: (id) => void this.#sessions.delete(id),
      }),
      owner,
      usedAt: Date.now(),
      running: 0,
    };
    await this.#serverFor(caller, session).connect(session.transport as Transport);
    return await session.transport.handleRequest(request, { authInfo: authInfoOf(caller) });
  }

  /** Ends sessions that are idle for long, and at a limit the one that is idle longest: the caller's own, then anybody's. */
  async #makeRoom(owner: string): Promise<boolean> {
    const idleSince = Date.now() - IDLE_MS;
    for (const [id, { running, usedAt }] of this.#sessions)
      if (running === 0 && usedAt <= idleSince) await this.#end(id);
    const isOwn = (session: Session) => session.owner === owner;
    return (
      (await this.#reduce(isOwn, MAX_OWN_SESSIONS - 1)) && (await this.#reduce(() => true, MAX_SESSIONS - 1))
    );
  }

  /** Ends idle sessions until at most so many are left; false where too many are in use. */
  async #reduce(concerns: (session: Session) => boolean, most: number): Promise<boolean> {
    const all = [...this.#sessions].filter(([, session]) => concerns(session));
    const idle = all
      .filter(([, { running }]) => running === 0)
      .sort(([, left], [, right]) => left.usedAt - right.usedAt);
    const surplus = Math.max(0, all.length - most);
    for (const [id] of idle.slice(0, surplus)) await this.#end(id);
    return idle.length >= surplus;
  }

  async #end(id: string): Promise<void> {
    const session = this.#sessions.get(id);
    this.#sessions.delete(id);
    await session?.transport.close();
  }

  #serverFor({ principal }: Caller, session?: Session): Server {
    const { name, version, instructions, tools, resources } = this.#options;
    const taskStore = this.#tasks.of(ownerKey(principal));
    const server = new Server(
      { name, version },
      {
        capabilities: {
          tools: {},
          ...(resources && { resources: {} }),
          tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
        },
        ...(instructions !== undefined && { instructions }),
        taskStore,
        ...(session && { taskMessageQueue: new InMemoryTaskMessageQueue() }),
      },
    );
    server.setRequestHandler(ListToolsRequestSchema, (_request, { authInfo }) => ({
      tools: tools(callerOf(authInfo).principal).map(describeTool),
    }));
    if (resources) serveResources(server, resources);
    server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
      const given = params.arguments ?? {};
      const caller = callerOf(extra.authInfo);
      const way = callExtra(caller, extra, server, session);
      if (params.task === undefined || session === undefined)
        return await this.#call(params.name, given, way, session);
      return await this.#startTask(params.name, given, { caller, extra, server, session });
    });
    return server;
  }

  /** Answers with a task at once; the client comes back for the result. */
  async #startTask(name: string, given: unknown, call: TaskCall) {
    const { extra, session, caller } = call;
    const [tasks, owner] = [this.#tasks, ownerKey(caller.principal)];
    if (extra.taskStore === undefined || tasks.isFull(owner))
      throw new McpError(ErrorCode.InvalidRequest, 'There are too many tasks under way. Try again later.');
    const ttl = Math.min(extra.taskRequestedTtl ?? MAX_TASK_MS, MAX_TASK_MS);
    const task = await extra.taskStore.createTask({ ttl });
    const { taskId } = task;
    const way = taskExtra(taskId, tasks.start(taskId, owner), call);
    const setResumeHandle = (handle: string) => tasks.setHandle(taskId, handle);
    void this.#finishTask(taskId, owner, this.#call(name, given, { ...way, setResumeHandle }, session));
    return { task };
  }

  async #finishTask(taskId: string, owner: string, work: Promise<CallResult>): Promise<void> {
    try {
      const result = await work;
      await this.#tasks.of(owner).storeTaskResult(taskId, result.isError ? 'failed' : 'completed', result);
    } catch {
      // The task was cancelled, or the service stops: then it goes on after the next start.
    } finally {
      this.#tasks.end(taskId);
    }
  }

  /** Goes on with the caller's tasks that the last process left unfinished, or ends them. */
  #resumeTasks({ principal }: Caller): void {
    const owner = ownerKey(principal);
    for (const { taskId, tool: name, handle } of this.#tasks.interrupted(owner)) {
      const signal = this.#tasks.start(taskId, owner);
      if (handle !== null) this.#tasks.setHandle(taskId, handle);
      const progress = async (_step: number, message: string) => {
        await this.#tasks.of(owner).updateTaskStatus(taskId, 'working', message);
      };
      const tool = this.#options.tools(principal).find(({ name: offered }) => offered === name);
      const work = resumeTool(tool, handle, { signal, progress, principal }).then(toCallResult);
      void this.#finishTask(taskId, owner, work);
    }
  }

  async #call(
    name: string,
    input: unknown,
    way: CallExtra,
    session: Session | undefined,
  ): Promise<CallResult> {
    if (session) session.running += 1;
    try {
      const { principal } = way.caller;
      const tool = this.#options.tools(principal).find(({ name: offered }) => offered === name);
      return toCallResult(
        tool
          ? await callTool(tool, input, way, this.#options)
          : { text: `Error: there is no tool ${name}.`, failed: true },
      );
    } finally {
      if (session) {
        session.running -= 1;
        session.usedAt = Date.now();
      }
    }
  }
}

type CallResult = ReturnType<typeof toCallResult>;

function toCallResult({ text, files = [], failed = false, meta }: ServedResult) {
  const content: ContentBlock[] = [{ type: 'text', text }, ...files.map(toContent)];
  return { content, isError: failed, ...(meta && { _meta: meta }) };
}

/** What models take as a picture. A client that gives another type to its model, such as SVG, is refused by it. */
const PICTURES = /^image\/(png|jpeg|webp|gif)$/;

function toContent({ name, mediaType: mimeType, bytes }: AttachedFile): ContentBlock {
  const buffer = Buffer.from(bytes);
  const data = buffer.toString('base64');
  if (PICTURES.test(mimeType)) return { type: 'image', data, mimeType };
  if (mimeType.startsWith('audio/')) return { type: 'audio', data, mimeType };
  const uri = `artifact:///${encodeURIComponent(name)}`;
  const content = mimeType.startsWith('text/') ? { text: buffer.toString('utf8') } : { blob: data };
  return { type: 'resource', resource: { uri, mimeType, ...content } };
}

interface TaskCall {
  caller: Caller;
  extra: Extra;
  server: Server;
  session: Session;
}

function canAsk(server: Server): boolean {
  const { elicitation } = server.getClientCapabilities() ?? {};
  // Without any mode named, forms are meant.
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
}

function callExtra(caller: Caller, extra: Extra, server: Server, session: Session | undefined): CallExtra {
  const { signal } = extra;
  return {
    caller,
    signal,
    progress: (step, message) => sendProgress(extra, step, message),
    ...(session && canAsk(server) && { ask: (question: ServedQuestion) => ask(extra, question, { signal }) }),
  };
}

/** A task goes on when the connection that began it is gone, and asks through its queue. */
function taskExtra(taskId: string, signal: AbortSignal, { caller, extra, server }: TaskCall): CallExtra {
  const tell = async (message?: string) => {
    // A session that has ended hears nothing; the task goes on.
    if (!signal.aborted)
      await extra.taskStore?.updateTaskStatus(taskId, 'working', message).catch(() => undefined);
  };
  return {
    caller: { ...caller, left: signal },
    signal,
    progress: (_step, message) => tell(message),
    ...(canAsk(server) && {
      ask: async (question: ServedQuestion) => {
        const answer = await ask(extra, question, { signal, relatedTask: { taskId } });
        await tell();
        return answer;
      },
    }),
  };
}

async function ask(
  { sendRequest }: Extra,
  { message, schema }: ServedQuestion,
  options: { signal: AbortSignal; relatedTask?: { taskId: string } },
): Promise<ServedAnswer> {
  const params = { mode: 'form' as const, message, requestedSchema: schema };
  const request = { method: 'elicitation/create', params } as ServerRequest;
  const limits = { ...options, timeout: ANSWER_MS };
  const { action, content } = await sendRequest(request, ElicitResultSchema, limits);
  return action === 'accept' ? content : undefined;
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

function serveResources(server: Server, resources: ServedResources): void {
  server.setRequestHandler(ListResourcesRequestSchema, async (_request, { authInfo }) => ({
    resources: await resources.list(callerOf(authInfo).principal),
  }));
  server.setRequestHandler(ReadResourceRequestSchema, async ({ params: { uri } }, { authInfo }) => {
    const found = await resources.read(uri, callerOf(authInfo).principal);
    if (found === undefined) throw new McpError(ErrorCode.InvalidParams, `There is no resource ${uri}.`);
    return { contents: [{ uri, ...found }] };
  });
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
