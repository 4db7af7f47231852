import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

/** One HTTP response as it goes over the socket. */
export interface WireAnswer {
  /** Which requests get it, any number of times. Without it, answers are given once each, in order. */
  when?: {
    /** A parameter of the request. */
    has?: string;
    /** Characters of the messages as JSON. */
    longerThan?: number;
  };
  /** Given to every further request. */
  repeat?: boolean;
  /** 200 when left out. */
  status?: number;
  /** `text/event-stream` for 200 and `application/json` for others when left out. */
  headers?: Record<string, string>;
  /** Seconds until the status line. */
  headAfter?: number;
  /** The body; the items of a list are separate writes, with silences between them. */
  body: string | (string | { silence: number })[];
  /** Line ends of the body. */
  newline?: 'crlf';
  /** Kills the connection after the last byte instead of ending it. */
  reset?: boolean;
}

/** What the person must get. */
export interface WireExpectation {
  /** The whole text of the turn. */
  text?: string;
  /** Thoughts, apart from the text; none when left out. */
  reasoning?: string;
  /** Calls that ran, with the arguments that the tool got; none when left out. */
  calls?: { name: string; input: unknown }[];
  /** How often a tool may run at most, where `calls` are not listed. */
  runsAtMost?: number;
  /** Why the turn ended; `stop` when left out. */
  finish?: string;
  /** Words that the person reads, be it as text or as a failure. */
  says?: string[];
  /** The turn fails with this code and these words. */
  error?: { code?: string; says: string[] };
  /** Events that tell the person about it, by type. */
  notes?: string[];
  /** Files that the model made: their names. */
  files?: string[];
  /** Pages that the answer is drawn from. */
  citations?: { url: string; title?: string; start?: number; end?: number }[];
  usage?: { input: number; output: number } | 'estimated';
  /** How many chat requests the gateway got. */
  requests?: number;
  /** Texts that stand in the last request, or not. */
  sends?: string[];
  leavesOut?: string[];
}

/** A capture: what a gateway sends in a certain situation. */
export interface Wire {
  /** `gateway/behaviour`: the file's path below this folder. */
  name: string;
  gateway: string;
  version: string;
  /** Where the format is published. */
  source: string;
  behaviour: string;
  model: string;
  /** Base path of the API; `/v1` when left out. */
  path?: string;
  ask: string;
  /** How many long exchanges come before the question. */
  history?: number;
  answers: WireAnswer[];
  /** Other routes as `METHOD /path`, with the document they answer. */
  routes?: Record<string, unknown>;
  expect: WireExpectation;
}

const folder = join(import.meta.dirname, 'wires');

/** Every capture of the folder, by name. */
export function loadWires(): Wire[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.yaml'))
    .sort()
    .map((path) => loadWire(path.slice(0, -'.yaml'.length)));
}

/**
 * Captures that one model after the other can be played with. Those that need a clock, a conversation, other tools than a
 * calculator, a place for files or a model that is not remembered by an earlier refusal are left out: `wire-doors.ts` has all.
 */
export function loadWiresForAnyModel(): Wire[] {
  return loadWires().filter(({ name, history, routes, answers, expect: { calls = [], files } }) => {
    const waits = answers.some(
      ({ status, body }) => status === 503 || status === 429 || typeof body !== 'string',
    );
    const teaches = answers.length > 1 && answers.some(({ status = 200 }) => status >= 400);
    // Its model is known to begin within its thoughts.
    const hasOwnModel = name === 'vllm/closing-think-tag-only';
    const usesCalculator = calls.every((call) => call.name === 'calculator');
    return !files && !history && !routes && !waits && !teaches && !hasOwnModel && usesCalculator;
  });
}

export function loadWire(name: string): Wire {
  const text = readFileSync(join(folder, `${name}.yaml`), 'utf8');
  return { ...(parse(text) as Omit<Wire, 'name'>), name };
}
