// What a turn with one call of a tool costs over HTTP: the agent service as `npm run agent` starts it, which keeps everything, beside the AI
// SDK's bare loop, which keeps nothing. Both ask the same fake gateway; each of the three is a process of its own.
// `node bench/agent.ts --turns 10000 --contexts 100` takes other counts.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { NODE_FLAGS } from '../bin/find-node.js';
import { type Program, startProgram } from './agent/processes.ts';
import type { BenchResult } from './result.ts';

const LONG = 'What is 12 * 34?';
const BRIEF = 'What is 12 * 34? Answer briefly.';
const WARM_UP = 200;
const ROUND = 200;
const AT_ONCE = 8;

export interface Counts {
  /** Of each side, after the warm-up. */
  turns: number;
  /** Conversations that the turns are spread over; a new one for each turn when not given. */
  contexts?: number | undefined;
}

interface Side {
  program: Program;
  turn(index: number, question: string): Promise<void>;
  atStart: number;
  turns: number;
  /** Resident memory when its last round ended, in MB; V8 gives a part of it back to the system when nothing is asked. */
  resident: number;
}

interface Cost {
  perSecond: number;
  cpuMilliseconds: number;
}

export async function run({ turns, contexts }: Counts = { turns: 1000 }): Promise<BenchResult[]> {
  const home = mkdtempSync(join(tmpdir(), 'trunkline-bench-'));
  const programs: Program[] = [];
  const start = async (args: string[], env: NodeJS.ProcessEnv = {}) => {
    const program = await startProgram(args, env);
    programs.push(program);
    return program;
  };
  try {
    const gateway = await start([join(import.meta.dirname, 'agent/fake-gateway.ts')]);
    const env = { LLM_GATEWAY_URL: gateway.url, LLM_MODEL: 'bench-model', TRUNKLINE_HOME: home };
    const agent = await start(
      [...NODE_FLAGS, join(import.meta.dirname, '../bin/trunkline.js'), 'agent', '--port', '0'],
      env,
    );
    const bare = await start([join(import.meta.dirname, 'agent/bare-loop.ts')], env);
    const ours = side(agent, (index, question) =>
      ask(agent.url, question, `context-${contexts ? index % contexts : index}`),
    );
    const theirs = side(bare, (_index, question) => askBare(bare.url, question));
    await measure([ours, theirs], WARM_UP, LONG);
    const few = Math.min(turns, 1000);
    let [long, bareLong] = await measure([ours, theirs], few, LONG);
    const memories = [memoryAfter(few, ours, theirs)];
    if (turns > few) {
      [long, bareLong] = await measure([ours, theirs], turns - few, LONG);
      memories.push(memoryAfter(turns, ours, theirs));
    }
    const [brief, bareBrief] = await measure([ours, theirs], few, BRIEF);
    const perSecond = [long.perSecond, bareLong.perSecond] as const;
    const cpu = [long.cpuMilliseconds, bareLong.cpuMilliseconds] as const;
    const briefCpu = [brief.cpuMilliseconds, bareBrief.cpuMilliseconds] as const;
    return [
      compare('turns a second, one call of a tool, all kept', 'turns/s', perSecond, 'higher'),
      compare('CPU of a turn, 60 words', 'ms', cpu, 'lower', 'at most 1.3'),
      compare('CPU of a turn, 4 words', 'ms', briefCpu, 'lower', 'at most 1.3'),
      compare('memory at the start', 'MB', [ours.atStart, theirs.atStart], 'lower'),
      ...memories,
    ];
  } finally {
    for (const program of programs.reverse()) await program.stop();
    rmSync(home, { recursive: true, force: true });
  }
}

function memoryAfter(turns: number, ours: Side, bare: Side): BenchResult {
  return compare(`memory after ${turns} turns`, 'MB', [ours.resident, bare.resident], 'lower', 'at most 1.1');
}

function side(program: Program, turn: Side['turn']): Side {
  const resident = program.resident();
  return { program, turn, atStart: resident, turns: 0, resident };
}

/** In rounds, by turns, so that what else the machine does meets both sides. */
async function measure(sides: [Side, Side], turns: number, question: string): Promise<[Cost, Cost]> {
  const seconds = [0, 0];
  const cpu = [0, 0];
  for (let done = 0; done < turns; done += ROUND) {
    const order = (done / ROUND) % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const);
    for (const index of order) {
      const { program } = sides[index];
      const [cpuBefore, began] = [program.cpu(), performance.now()];
      await round(sides[index], Math.min(ROUND, turns - done), question);
      seconds[index] = (seconds[index] ?? 0) + (performance.now() - began) / 1000;
      cpu[index] = (cpu[index] ?? 0) + program.cpu() - cpuBefore;
      sides[index].resident = program.resident();
    }
  }
  const cost = (index: 0 | 1) => ({
    perSecond: turns / (seconds[index] ?? 0),
    cpuMilliseconds: (cpu[index] ?? 0) / turns,
  });
  return [cost(0), cost(1)];
}

async function round(it: Side, turns: number, question: string): Promise<void> {
  const end = it.turns + turns;
  const worker = async () => {
    while (it.turns < end) {
      it.turns += 1;
      await it.turn(it.turns, question);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

function compare(
  name: string,
  unit: string,
  [ours, bare]: readonly [number, number],
  better: BenchResult['better'],
  goal?: string,
): BenchResult {
  const peers = { 'bare AI SDK loop, nothing kept': bare };
  return { name, unit, ours, peers, ratio: ours / bare, better, ...(goal && { goal }) };
}

export async function ask(url: string, text: string, contextId: string): Promise<void> {
  const message = { role: 'user', contextId, parts: [{ kind: 'text', text }] };
  const request = { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } };
  const { result } = (await post(`${url}/a2a`, request)) as { result: { status: { state: string } } };
  if (result?.status.state !== 'completed')
    throw new Error(`The agent ended a turn as ${JSON.stringify(result)}.`);
}

async function askBare(url: string, prompt: string): Promise<void> {
  const { text } = (await post(url, { prompt })) as { text: string };
  if (!text.includes('408')) throw new Error(`The bare loop answered: ${text}`);
}

async function post(url: string, body: object): Promise<unknown> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return response.json();
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { turns: { type: 'string' }, contexts: { type: 'string' } } });
  const contexts = values.contexts === undefined ? undefined : Number(values.contexts);
  console.table(await run({ turns: Number(values.turns ?? 1000), contexts }));
}
