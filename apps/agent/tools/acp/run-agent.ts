import type { ChildProcess } from 'node:child_process';
import { Readable, Writable } from 'node:stream';
import {
  type ClientConnection,
  client,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  type RequestPermissionRequest,
  type RequestPermissionResponse,
  type SessionNotification,
  type Stream,
} from '@agentclientprotocol/sdk';
import { readVariable } from '@trunkline/config';
import { resolveSettings, type Sandbox, type SandboxSettings } from '@trunkline/sandbox';
import { errorMessage } from '@trunkline/std';

const HANDED_ON = ['PATH', 'HOME', 'LANG', 'TERM', 'USER'];

const MAX_COMPLAINT_LENGTH = 500;
const MAX_PROCESSES = 1024;
/** Bun, with which opencode and Claude Code are built, reserves gigabytes that it does not use. */
const RESERVED_MB = 4096;

/** An agent that runs as a process and speaks ACP. */
export interface AcpAgent extends PermissionRules {
  name: string;
  command: string;
  args: readonly string[];
  /** Where it works. */
  directory: string;
  env: Readonly<Record<string, string>>;
  sandbox: Sandbox;
  /** What it may reach; by default the network, and of files its directory. */
  sandboxSettings?: SandboxSettings | undefined;
  timeoutMs: number;
}

export interface CodingAgent extends AcpAgent {
  /** The operator must approve each task that it is given. */
  confirm: boolean;
}

interface PermissionRules {
  /** `auto` allows everything, `allowlist` what is listed, `readonly` what changes nothing. */
  permissions: 'auto' | 'allowlist' | 'readonly';
  allow_kinds: readonly string[];
  /** Refused whatever else is said. */
  deny_kinds: readonly string[];
}

const maxTextLength = 50_000;
const readOnlyKinds = new Set(['read', 'search', 'think']);

interface Progress {
  text: string;
  refused: string[];
}

/** Lets the agent do one task. Returns what it said; throws when it fails, hangs or dies. */
export async function runAcpAgent(agent: AcpAgent, task: string, signal: AbortSignal): Promise<string> {
  const running = await startAgentProcess(agent);
  const progress: Progress = { text: '', refused: [] };
  const connection = connect(agent, progress).connect(running.stream);
  const limit = AbortSignal.timeout(agent.timeoutMs);
  const work = converse(connection, agent.directory, task);
  try {
    const stopReason = await firstOf(agent, work, running.ended, AbortSignal.any([signal, limit]), limit);
    return report(agent, progress, stopReason);
  } finally {
    connection.close();
    await running.stop();
    await Promise.allSettled([work]);
  }
}

function connect(agent: AcpAgent, progress: Progress) {
  return client({ name: 'trunkline' })
    .onRequest(methods.client.session.requestPermission, ({ params }) => {
      const answer = decide(params, agent);
      const chosen = params.options.find(
        ({ optionId }) => answer.outcome.outcome === 'selected' && optionId === answer.outcome.optionId,
      );
      if (!chosen?.kind.startsWith('allow'))
        progress.refused.push(params.toolCall.title ?? params.toolCall.kind ?? 'something');
      return answer;
    })
    .onNotification(methods.client.session.update, ({ params }) => collect(progress, params));
}

function collect(progress: Progress, { update }: SessionNotification): void {
  if (update.sessionUpdate !== 'agent_message_chunk' || update.content.type !== 'text') return;
  progress.text = `${progress.text}${update.content.text}`.slice(0, maxTextLength);
}

async function converse({ agent }: ClientConnection, directory: string, task: string): Promise<string> {
  await agent.request(methods.agent.initialize, {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
  });
  const { sessionId } = await agent.request(methods.agent.session.new, { cwd: directory, mcpServers: [] });
  const { stopReason } = await agent.request(methods.agent.session.prompt, {
    sessionId,
    prompt: [{ type: 'text', text: task }],
  });
  return stopReason;
}

/** The end of the work, unless the process ends or the time is up before. */
async function firstOf(
  { name, timeoutMs }: AcpAgent,
  work: Promise<string>,
  ended: Promise<string>,
  stopped: AbortSignal,
  limit: AbortSignal,
): Promise<string> {
  const death = ended.then((words) => {
    throw new Error(`${name} stopped before it was done: ${words}`);
  });
  const abort = new Promise<never>((_resolve, reject) => {
    const tell = () =>
      reject(
        limit.aborted
          ? new Error(`${name} took longer than ${timeoutMs / 1000} seconds and was stopped.`)
          : stopped.reason,
      );
    stopped.addEventListener('abort', tell, { once: true });
    if (stopped.aborted) tell();
  });
  const answer = work.catch(async (error: unknown) => {
    if (isClosed(error)) return await death;
    throw new Error(`${name} failed: ${errorMessage(error)}`, {
      cause: error,
    });
  });
  return await Promise.race([answer, death, abort]);
}

/** A connection that closes tells less than the end of the process behind it. */
function isClosed(error: unknown): boolean {
  return error instanceof Error && /clos|EPIPE|terminated|aborted/i.test(error.message);
}

function report({ name }: AcpAgent, { text, refused }: Progress, stopReason: string): string {
  const notes = refused.length === 0 ? '' : `\n[not permitted: ${[...new Set(refused)].join(', ')}]`;
  if (stopReason === 'refusal') return `Error: ${name} refused the task. ${text}${notes}`;
  const ending = stopReason === 'end_turn' ? '' : `\n[ended early: ${stopReason}]`;
  return `${text.trim() || `${name} is done and said nothing.`}${notes}${ending}`;
}

/** The answer to a request for permission: once rather than always, and nothing that was not offered. */
function decide(request: RequestPermissionRequest, rules: PermissionRules): RequestPermissionResponse {
  const allowed = mayDo(request.toolCall.kind ?? 'other', rules);
  const wanted = allowed ? ['allow_once', 'allow_always'] : ['reject_once', 'reject_always'];
  const option = wanted.flatMap((kind) => request.options.find((each) => each.kind === kind) ?? []).at(0);
  if (option === undefined) return { outcome: { outcome: 'cancelled' } };
  return { outcome: { outcome: 'selected', optionId: option.optionId } };
}

/** Whether the agent may do something of that kind: read, edit, delete, move, search, execute, think, fetch, other. */
export function mayDo(kind: string, { permissions, allow_kinds, deny_kinds }: PermissionRules): boolean {
  if (deny_kinds.includes(kind)) return false;
  if (permissions === 'auto') return true;
  return permissions === 'allowlist' ? allow_kinds.includes(kind) : readOnlyKinds.has(kind);
}

interface AgentProcess {
  stream: Stream;
  /** Resolves with the reason when the process ends or cannot be started. */
  ended: Promise<string>;
  /** Stops the process and all it has started. */
  stop(): Promise<void>;
}

/** Starts an agent that speaks ACP over its standard streams. */
async function startAgentProcess(agent: AcpAgent): Promise<AgentProcess> {
  const { name, command, args, directory, env, sandbox, sandboxSettings } = agent;
  const started = await sandbox
    .start({
      name,
      command,
      args,
      cwd: directory,
      env: { ...inherited(), ...env },
      ...resolveSettings(sandboxSettings, { network: 'public', writable: [directory] }),
      showsArguments: true,
      limits: { memoryMb: sandbox.memoryMb, reservedMb: RESERVED_MB, processes: MAX_PROCESSES },
      stdin: 'pipe',
    })
    .catch((error: unknown) => {
      throw new Error(`${name} stopped before it was done: it cannot be started: ${errorMessage(error)}`);
    });
  const { child } = started;
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new TypeError('the agent has no standard streams');
  stdin.on('error', () => stdout.destroy());
  const complaint = lastWords(child);
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`it cannot be started: ${error.message}`));
    child.once('close', (code, signal) =>
      resolve(started.exceeded() ?? `it ended with ${signal ?? `exit code ${code}`}${complaint()}`),
    );
  });
  const stream = ndJsonStream(Writable.toWeb(stdin), Readable.toWeb(stdout) as ReadableStream<Uint8Array>);
  return { stream, ended, stop: () => started.end() };
}

function inherited(): Record<string, string> {
  return Object.fromEntries(
    HANDED_ON.flatMap((name) => {
      const value = readVariable(name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

function lastWords(child: ChildProcess): () => string {
  let text = '';
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    text = `${text}${chunk}`.slice(-MAX_COMPLAINT_LENGTH);
  });
  return () => (text.trim() === '' ? '' : `: ${text.trim()}`);
}
