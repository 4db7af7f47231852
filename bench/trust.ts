// What policy, marks, fences and the audit log cost: processor time of a turn of the agent, with them and without.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BenchResult } from './result.ts';

/**
 * Two processes of the same program differ by some per cent for as long as they run, by what the compiler made of them.
 * So each agent is measured against itself: the kernel is switched off and on by turns.
 */
const AGENTS = 3;
/** Turns in a row on one side. The collector and the compiler work in one turn out of ten, for what others left behind. */
const TURNS = 40;
/** Of one block on each side. */
const ROUNDS = 60;
/** With the kernel, and as many without, of each kind. The first hundred turns of a process take half as long again as later ones. */
const WARM_UP = 500;
/** The compiler and the collector work in the main thread, not beside it whenever there is a free processor. */
const STEADY = ['--single-threaded'];

/** What is said in a conversation; the last message is measured. */
const workloads: Record<string, string[]> = {
  'a turn with a tool that reads': ['What is 12 * 34?'],
  'a turn with a tool that writes': ['Remember that the harbour is shallow'],
  'a turn after text from outside': ['Search the web for tides', 'What is 12 * 34?'],
};

interface Agent {
  url: string;
  /** Processor time so far, in milliseconds. */
  cpu(): Promise<number>;
  switchKernel(isOn: boolean): Promise<void>;
  stop(): Promise<void>;
}

export async function run(): Promise<BenchResult[]> {
  const home = mkdtempSync(join(tmpdir(), 'trunkline-bench-'));
  const search = await startSearch();
  const rounds = new Map(Object.keys(workloads).map((name) => [name, [] as Round[]]));
  try {
    for (let index = 0; index < AGENTS; index += 1)
      await measureAgent(join(home, String(index)), search.url, rounds);
  } finally {
    search.stop();
    rmSync(home, { recursive: true, force: true });
  }
  return [...rounds].map(([name, measured]) => resultOf(name, measured));
}

/** Processor time of the turns of a block. */
interface Round {
  ours: number;
  theirs: number;
}

async function measureAgent(
  home: string,
  searchUrl: string,
  rounds: ReadonlyMap<string, Round[]>,
): Promise<void> {
  const agent = await startAgent(home, searchUrl);
  try {
    for (const said of Object.values(workloads))
      for (const isOn of [true, false]) {
        await agent.switchKernel(isOn);
        for (let turn = 0; turn < WARM_UP; turn += 1)
          await ask(agent, said.at(-1) ?? '', await begin(agent, said));
      }
    for (const [name, measured] of rounds) measured.push(...(await compare(agent, workloads[name] ?? [])));
  } finally {
    await agent.stop();
  }
}

/** Rounds with and without alternate, and so does which is first: what else the machine does meets both. */
async function compare(agent: Agent, said: string[]): Promise<Round[]> {
  const rounds: Round[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const isFirst = round % 2 === 0;
    const first = await cost(agent, isFirst, said);
    const second = await cost(agent, !isFirst, said);
    rounds.push(isFirst ? { ours: first, theirs: second } : { ours: second, theirs: first });
  }
  return rounds;
}

function resultOf(name: string, rounds: readonly Round[]): BenchResult {
  const turns = rounds.length * TURNS;
  return {
    name: `CPU of ${name}`,
    unit: 'ms',
    ours: sum(rounds.map(({ ours }) => ours)) / turns,
    peers: { 'without policy, marks and audit': sum(rounds.map(({ theirs }) => theirs)) / turns },
    ratio: ratioOf(rounds),
    spread: interval(rounds),
    better: 'lower',
    goal: 'below 1.05',
  };
}

/** Of the sums, so of the mean turn, with all that the collector and the compiler do for it. */
function ratioOf(rounds: readonly Round[]): number {
  return sum(rounds.map(({ ours }) => ours)) / sum(rounds.map(({ theirs }) => theirs));
}

/** Where 95 of 100 ratios lie if the rounds are drawn again, each as often as it happens. */
function interval(rounds: readonly Round[]): [number, number] {
  const draw = () => rounds[Math.floor(Math.random() * rounds.length)] as Round;
  const ratios = Array.from({ length: 2000 }, () => ratioOf(rounds.map(draw))).sort(
    (left, right) => left - right,
  );
  return [ratios[50] ?? Number.NaN, ratios[1949] ?? Number.NaN];
}

/** Processor time of a block of turns: of the last message of each conversation. */
async function cost(agent: Agent, isOn: boolean, said: string[]): Promise<number> {
  await agent.switchKernel(isOn);
  let total = 0;
  for (let turn = 0; turn < TURNS; turn += 1) {
    const conversation = await begin(agent, said);
    const before = await agent.cpu();
    await ask(agent, said.at(-1) ?? '', conversation);
    total += (await agent.cpu()) - before;
  }
  return total;
}

let conversations = 0;

/** A conversation in which all but the last message was said. */
async function begin(agent: Agent, said: string[]): Promise<string> {
  const context = `trust-${conversations++}`;
  for (const text of said.slice(0, -1)) await ask(agent, text, context);
  return context;
}

async function ask({ url }: Agent, text: string, contextId: string): Promise<void> {
  const message = { role: 'user', contextId, parts: [{ kind: 'text', text }] };
  const response = await fetch(`${url}/a2a`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } }),
  });
  const { result } = (await response.json()) as { result: { status: { state: string } } };
  if (result.status.state !== 'completed')
    throw new Error(`The agent ended "${text}" as ${result.status.state}.`);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** An agent with twenty rules that fit nothing, so that each is looked at. */
function startAgent(home: string, searchUrl: string): Promise<Agent> {
  mkdirSync(join(home, 'agent', 'config'), { recursive: true });
  const rules = Array.from({ length: 20 }, (_, index) => ({
    tool: `unknown_${index}`,
    arguments: { host: `*.host-${index}.example` },
    decision: 'deny',
  }));
  writeFileSync(join(home, 'policy.yaml'), JSON.stringify({ rules }));
  writeFileSync(
    join(home, 'agent', 'config', 'agent.yaml'),
    JSON.stringify({ knowledge: { embeddings: 'off' } }),
  );
  const env = {
    ...process.env,
    TRUNKLINE_HOME: home,
    AGENT_PORT: '0',
    SEARXNG_URL: searchUrl,
    REQUEST_LIMIT: '0',
  };
  const file = (name: string) => join(import.meta.dirname, 'trust', name);
  const flags = [...STEADY, '--import', file('switched-kernel.ts')];
  const child = spawn(process.execPath, [...flags, file('agent-process.ts')], {
    env,
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  return new Promise((resolve, reject) => {
    child.once('exit', () => reject(new Error('The agent ended before it listened.')));
    child.stdout?.on('data', (line: Buffer) =>
      resolve({
        url: String(line).trim(),
        cpu: () => tell(child, 'cpu'),
        switchKernel: async (isOn) => void (await tell(child, isOn ? 'on' : 'off')),
        stop: () => stop(child),
      }),
    );
  });
}

/** Every message is answered with the processor time so far. */
function tell(child: ChildProcess, message: 'cpu' | 'on' | 'off'): Promise<number> {
  return new Promise((resolve) => {
    child.once('message', (milliseconds) => resolve(Number(milliseconds)));
    child.send(message);
  });
}

function stop(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill('SIGTERM');
  });
}

async function startSearch(): Promise<{ url: string; stop(): void }> {
  const content = 'The tide is high at noon and low at six. '.repeat(20);
  const results = Array.from({ length: 8 }, (_, index) => ({
    title: `Tides ${index}`,
    url: `https://tides.example/${index}`,
    content,
  }));
  const server = createServer((_request, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ results })),
  );
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, stop: () => void server.close() };
}

if (import.meta.main) console.table(await run());
