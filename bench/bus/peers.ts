import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Bus, createEmbeddedBus, type EmbeddedBusOptions, TopicIndex } from '@trunkline/bus';

const require = createRequire(import.meta.url);

export type Handler = () => void;

/** One library with patterns and handlers in it: how many match a topic and, if it is more than an index, their calls. */
export interface Contestant {
  add(pattern: string, handler: Handler): void;
  count(topic: string): number;
  deliver?(topic: string, payload: object): void;
}

interface Qlobber {
  add(pattern: string, handler: Handler): void;
  match(topic: string): Handler[];
}

export const contestants: Record<string, () => Contestant> = {
  ours() {
    const index = new TopicIndex<Handler>();
    return {
      add: (pattern, handler) => index.add(pattern, handler),
      count: (topic) => index.match(topic).length,
    };
  },
  qlobber: () => qlobber({}),
  'qlobber with its cache of splits': () => qlobber({ cache_splits: 10_000 }),
  mqemitter() {
    const create = require('mqemitter') as (options: object) => {
      on(topic: string, listener: (message: object, done: () => void) => void): void;
      emit(message: { topic: string; payload: object }): void;
      _matcher: Qlobber;
    };
    const emitter = create({ separator: '.', wildcardOne: '*', wildcardSome: '#', matchEmptyLevels: false });
    return {
      add: (pattern, handler) =>
        emitter.on(pattern, (_, done) => {
          handler();
          done();
        }),
      count: (topic) => emitter._matcher.match(topic).length,
      deliver: (topic, payload) => emitter.emit({ topic, payload }),
    };
  },
  eventemitter2() {
    const { EventEmitter2 } = require('eventemitter2') as typeof import('eventemitter2');
    const emitter = new EventEmitter2({ wildcard: true, delimiter: '.', maxListeners: 0 });
    return {
      add: (pattern, handler) => void emitter.on(pattern.replace('#', '**'), handler),
      count: (topic) => emitter.listeners(topic).length,
      deliver: (topic, payload) => void emitter.emit(topic, { topic, payload }),
    };
  },
};

function qlobber(options: object): Contestant {
  const { Qlobber } = require('qlobber') as { Qlobber: new (options: object) => Qlobber };
  const matcher = new Qlobber(options);
  return {
    add: (pattern, handler) => matcher.add(pattern, handler),
    count: (topic) => matcher.match(topic).length,
  };
}

/** Runs the work on an embedded bus whose journal goes away afterwards. */
export async function withEmbeddedBus<Result>(
  work: (bus: Bus) => Promise<Result>,
  options: Partial<EmbeddedBusOptions> = {},
): Promise<Result> {
  const directory = mkdtempSync(join(tmpdir(), 'trunkline-bench-'));
  const bus = await createEmbeddedBus({ ...options, directory });
  try {
    return await work(bus);
  } finally {
    await bus.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Ten thousand and one patterns (70 % exact, 20 % with `*`, 10 % with a last `#`) and topics that hit and miss them. */
export interface Workload {
  patterns: string[];
  /** Topics that come again and again, as channels and skills do. */
  known: string[];
  /** Topics of which none comes twice, as correlation ids make them. */
  fresh: string[];
}

const heads = ['message', 'agent', 'cron', 'command', 'flow', 'tracker', 'cloud', 'review'];

export function createWorkload(): Workload {
  const random = generator(42);
  const pick = (count: number) => Math.floor(random() * count);
  const literal = (last: string) => {
    const middle = Array.from({ length: 2 + pick(3) }, () => `s${pick(40)}`);
    return [heads[pick(heads.length)] ?? '', ...middle, last];
  };
  const exact = fill(7000, () => literal(`x${pick(200)}`).join('.'));
  const starred = fill(2000, () => {
    const segments = literal(`x${pick(200)}`);
    segments[1 + pick(segments.length - 1)] = '*';
    return segments.join('.');
  });
  const open = fill(1000, () => literal('#').join('.'));
  return {
    patterns: [...exact, ...starred, ...open, '#'],
    known: fill(1000, () =>
      random() < 0.7 ? (exact[pick(exact.length)] ?? '') : literal(`x${pick(200)}`).join('.'),
    ),
    fresh: fill(200_000, (index) => literal(`y${index}`).join('.')),
  };
}

function fill(count: number, make: (index: number) => string): string[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

/** The same numbers in every run. */
function generator(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 4_294_967_296;
  };
}
