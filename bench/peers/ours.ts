import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Peer, Place, Started } from './peer.ts';
import { post } from './processes.ts';

const command = join(import.meta.dirname, '../../bin/trunkline.js');
const address = /(http:\/\/127\.0\.0\.1:\d+)/;
const shipped = {
  package: 'trunkline',
  folder: '../..',
  needs: [],
  install: 'npm ci',
} as const;

/** The agent service by its shipped command with shipped defaults; a new conversation for each turn. */
export const ourAgent: Peer = {
  ...shipped,
  name: 'Trunkline agent',
  id: 'ours-agent',
  kind: 'agent',
  durability:
    'task, conversation, audit line, cost and latency of each call on disk; the end of a task is written shortly after its answer, so that after kill -9 the last ones read as interrupted',
  unfair:
    'to us: every turn offers its whole set of tools, enforces policy and writes the audit log; the others offer one tool',
  async start(place) {
    const url = await startService('agent', place);
    return a2a(`${url}/a2a`, { text: 'What is 12 * 34?' }, '408');
  },
};

/** The switchboard: A2A over HTTP in, to a tool of an MCP server in a process of its own, and back. */
export const ourSwitchboard: Peer = {
  ...shipped,
  name: 'Trunkline switchboard',
  id: 'ours-switchboard',
  kind: 'bus',
  durability: 'journal, task, flow and trace on disk; the end of a task is written shortly after its answer',
  unfair:
    'to us: JSON-RPC and MCP at the ends, keys, routing and traces, where the others carry bare JSON; the MCP server runs in a sandbox',
  async start(place) {
    const servers = join(place.home, 'workspace/mcp-servers.d');
    mkdirSync(servers, { recursive: true });
    const handler = join(import.meta.dirname, 'programs/mcp-echo.js');
    writeFileSync(
      join(servers, 'bench.yaml'),
      JSON.stringify({
        name: 'bench',
        transport: 'stdio',
        command: process.execPath,
        args: [handler],
        trust: 'trusted',
      }),
    );
    const url = await startService('switchboard', place);
    const request = { text: '{"text":"ping"}', metadata: { agent: 'bench', skillHint: 'bench.echo' } };
    const started = a2a(`${url}/a2a`, request, 'ping');
    await untilItWorks(started.work);
    return started;
  },
};

/** The conversation side of the voice service without its transport; the detector is real, all else takes no time. */
export const ourVoice: Peer = {
  ...shipped,
  name: 'Trunkline voice',
  id: 'ours-voice',
  kind: 'voice',
  durability: 'conversation in SQLite',
  unfair: 'to LiveKit: every turn is a new call here, one long session there; neither has its transport',
  units: 10,
  atOnce: 1,
  prepare: writeQuestion,
  start: (place) => spokenTurn(place, join(import.meta.dirname, 'programs/voice-ours.ts')),
};

const questionFile = 'question.pcm';

/** The same spoken question for everybody, made once. */
export async function writeQuestion({ processes, home }: Place): Promise<void> {
  const file = join(home, questionFile);
  if (existsSync(file)) return;
  await processes.run(process.execPath, [join(import.meta.dirname, 'programs/question.ts'), file]);
}

/** Starts a program that says how long after the end of speech the first sound of its answer came. */
export async function spokenTurn({ processes, home }: Place, program: string): Promise<Started> {
  const args = [program, join(home, questionFile)];
  const url = await processes.launch(process.execPath, args, { ready: address });
  const delays: number[] = [];
  return {
    delays: () => delays,
    async work() {
      const { delay: milliseconds } = (await post(url, {})) as { delay: number };
      delays.push(milliseconds);
      return String(milliseconds);
    },
  };
}

function startService(service: string, { processes, home, gateway }: Place): Promise<string> {
  return processes.launch(process.execPath, [command, service, '--port', '0'], {
    ready: address,
    env: {
      TRUNKLINE_HOME: home,
      WORKSPACE_DIR: join(home, 'workspace'),
      ...(gateway && { LLM_GATEWAY_URL: gateway, LLM_MODEL: 'bench-model' }),
    },
  });
}

/** The service is up before the MCP server is. */
async function untilItWorks(work: () => Promise<string>): Promise<void> {
  for (let left = 1000; ; left -= 1) {
    try {
      await work();
      return;
    } catch (error) {
      if (left === 0) throw error;
      await delay(20);
    }
  }
}

interface Task {
  id: string;
  status: { state: string };
}

/** Sends a message by A2A 1.0 and waits for the end of its task; asks for the task later. */
export function a2a(url: string, { text, metadata }: { text: string; metadata?: object }, expected: string) {
  const call = async (method: string, params: object) => {
    const body = { jsonrpc: '2.0', id: 1, method, params };
    return (await post(url, body, { 'a2a-version': '1.0' })) as { result?: Task & { task?: Task } };
  };
  const isCompleted = (task?: Task) => task?.status.state === 'TASK_STATE_COMPLETED';
  return {
    async work() {
      const message = { role: 'ROLE_USER', messageId: crypto.randomUUID(), parts: [{ text }] };
      const answer = await call('SendMessage', { message, ...(metadata && { metadata }) });
      const task = answer.result?.task;
      const said = JSON.stringify(answer);
      if (task === undefined || !isCompleted(task) || !said.includes(expected))
        throw new Error(`${url} answered: ${said.slice(0, 300)}`);
      return task.id;
    },
    isKept: async (id: string) => isCompleted((await call('GetTask', { id })).result),
  };
}
