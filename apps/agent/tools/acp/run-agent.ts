import {
  type ClientConnection,
  client,
  methods,
  PROTOCOL_VERSION,
  type SessionNotification,
} from '@agentclientprotocol/sdk';
import { startAgentProcess } from './agent-process.ts';
import { decide, type PermissionRules } from './permission-policy.ts';

/** An agent that runs as a process and speaks ACP. */
export interface AcpAgent extends PermissionRules {
  name: string;
  command: string;
  args: readonly string[];
  /** Where it works. */
  directory: string;
  env: Readonly<Record<string, string>>;
  timeoutMs: number;
}

const LONGEST_TEXT = 50_000;

/** What is collected while the agent works. */
interface Progress {
  text: string;
  refused: string[];
}

/** Lets the agent do one task and gives what it said; throws words when it fails, hangs or dies. */
export async function runAcpAgent(agent: AcpAgent, task: string, signal: AbortSignal): Promise<string> {
  const running = startAgentProcess(agent);
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
  progress.text = `${progress.text}${update.content.text}`.slice(0, LONGEST_TEXT);
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
    throw new Error(`${name} failed: ${error instanceof Error ? error.message : String(error)}`, {
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
