import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { stringify } from 'yaml';
import { startWireServer, type WireOptions, type WireServer } from './wire-server.ts';
import { loadWire, loadWires, type Wire } from './wires.ts';

/** Where a person meets a model: columns of `wires/doors.md`. */
const doors = ['A2A', '/v1', 'voice', 'page', 'section'] as const;
export type Door = (typeof doors)[number];

export interface DoorCase {
  name: string;
  wire: Wire;
  /** What the person gets there: see `outcomeOf`. */
  outcome: string;
}

/** Sections are written without tools, so no gateway answers with a call there. */
export const noTools = 'no tools';

/** Every capture with what the door makes of it. Fails where the table and the captures do not agree. */
export function loadDoorCases(door: Door): DoorCase[] {
  const rows = readTable(readFileSync(join(import.meta.dirname, 'wires', 'doors.md'), 'utf8'));
  const wires = loadWires();
  const strangers = [...rows.keys()].filter((name) => !wires.some((wire) => wire.name === name));
  if (strangers.length > 0) throw new Error(`doors.md has rows of no capture: ${strangers.join(', ')}`);
  return wires.map((wire) => {
    const outcome = rows.get(wire.name)?.[doors.indexOf(door)];
    if (!outcome) throw new Error(`doors.md does not say what ${door} makes of ${wire.name}`);
    if (outcome === noTools && (door !== 'section' || wire.expect.calls === undefined))
      throw new Error(`doors.md leaves out ${wire.name} at ${door}, which meets it`);
    return { name: wire.name, wire, outcome };
  });
}

function readTable(text: string): Map<string, string[]> {
  const rows = text
    .split('\n')
    .filter((line) => /^\| [a-z]+\//.test(line))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  return new Map(rows.map(([name = '', ...cells]) => [name, cells]));
}

/** What came of a capture, in the words of the table: the answer or a failure, and what was shown beside it. */
export function outcomeOf({ expect: wanted }: Wire, shown: ShownTurn): string {
  const { text, failure, thoughts = '', notes = [], runs = 0, files = 0, isExtract = false } = shown;
  const words = [...(wanted.says ?? []), ...(wanted.error?.says ?? [])];
  const has = (said: string) => words.every((word) => said.toLowerCase().includes(word.toLowerCase()));
  const isTold =
    words.length > 0 || wanted.text === undefined ? has([text, failure, ...notes].join(' ')) : false;
  const ending = () => {
    if (isExtract) return 'extract';
    if (failure !== undefined) return isTold ? 'failure' : `failure: ${failure}`;
    if (wanted.text !== undefined && text.trim() === wanted.text.trim()) return 'answer';
    return isTold ? 'words' : `text: ${text}`;
  };
  const isThought = wanted.reasoning !== undefined && thoughts.includes(wanted.reasoning.slice(0, 12));
  return [
    ending(),
    ...(isThought ? ['thoughts'] : []),
    ...(notes.length > 0 ? ['note'] : []),
    ...(runs > 0 ? [runs === 1 ? '1 call' : `${runs} calls`] : []),
    ...(files > 0 ? ['file'] : []),
  ].join(', ');
}

const filler = loadWire('ollama/plain');

/** What was said before a capture with a history: long in all, and each so short that a window that is known takes it. */
export function earlierMessages({ history, routes }: Wire): string[] {
  if (history === undefined) return [];
  const [count, words] = routes === undefined ? [2, 720] : [6, 220];
  return Array.from({ length: count }, (_, index) => `Part ${index}: ${'lorem ipsum dolor '.repeat(words)}`);
}

export interface DoorGateway {
  server: WireServer;
  /** Makes the capture's model the chat model of the services at the home, at an address that nobody knows yet. */
  open(wire: Wire, options?: WireOptions): Promise<void>;
  /** Answers what is said before the capture, at its address. */
  fill(wire: Wire): void;
  play(wire: Wire): void;
}

/** Services look for changes of models.yaml this often. */
const looksMs = 20;

/** The gateway of the services at a home, which read `models.yaml` there. */
export async function startDoorGateway(home: string): Promise<DoorGateway> {
  const server = await startWireServer(filler);
  let options: WireOptions = {};
  const play = (wire: Wire) => server.play(quick(wire), { ...options, silence: silenceOf(wire) });
  return {
    server,
    async open(wire, more = {}) {
      options = more;
      const chat = { model: wire.model, url: server.freshUrl(wire), api_key: 'test-key' };
      const models = isStuck(wire) ? { [wire.model]: { idle_timeout_s: 1 } } : {};
      writeFileSync(join(home, 'models.yaml'), stringify({ roles: { chat }, models }));
      await delay(looksMs + 1);
      play(wire);
    },
    fill: ({ routes = {} }) => server.play({ ...filler, routes }, options),
    play,
  };
}

/** Waits of a service last a second at most, and a model that is being loaded is ready at the second look. */
function quick(wire: Wire): Wire {
  const isWait = ({ status }: Wire['answers'][number]) => status === 503 || status === 429;
  const waits = wire.answers.filter(isWait);
  const isLoading = waits.length > 2;
  const answers = wire.answers
    .filter((answer) => !isLoading || !isWait(answer) || answer === waits[0])
    .map((answer) =>
      isWait(answer)
        ? { ...answer, headers: { 'retry-after': isLoading ? '1' : '0', ...answer.headers } }
        : answer,
    );
  return { ...wire, answers };
}

/** A silence that only a limit ends. */
function isStuck({ expect: { error } }: Wire): boolean {
  return error?.code === 'timeout';
}

function silenceOf(wire: Wire): (seconds: number) => Promise<void> {
  return isStuck(wire) ? () => new Promise(() => undefined) : async () => undefined;
}

/** What a person got at a door of a service. */
export interface ShownTurn {
  text: string;
  /** Undefined when all went well. */
  failure?: string | undefined;
  thoughts?: string;
  /** What was told beside the answer. */
  notes?: string[];
  /** How many tools ran. */
  runs?: number;
  /** Sentences of the sources stand in place of what the model did not write. */
  isExtract?: boolean;
  /** How many files came with the answer. */
  files?: number;
}

const markup = ['<think', '</think', 'tool_call', '[TOOL_CALLS]', 'python_tag', '```json', '<|'];

/** The words of the capture, no thoughts among them and no markup. */
export function expectShown({ expect: wanted, name }: Wire, { text, failure = '' }: ShownTurn): void {
  const words = [...(wanted.says ?? []), ...(wanted.error?.says ?? [])];
  const read = `${text} ${failure}`.toLowerCase();
  for (const word of words) expect(read, name).toContain(word.toLowerCase());
  if (words.length === 0 && wanted.text !== undefined)
    expect([text, failure], name).toEqual([wanted.text, '']);
  if (wanted.reasoning !== undefined) expect(text, name).not.toContain(wanted.reasoning);
  for (const mark of markup) if (!wanted.text?.includes(mark)) expect(text, name).not.toContain(mark);
}
