import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Disk,
  type MovableClock,
  mountSmallDisk,
  movableClock,
  temporaryDirectory,
} from '@trunkline/testing';
import { createFleet, type Fleet } from './fleet.ts';
import { type Account, type Entry, Ledger, type Standing } from './ledger.ts';
import { allLoads } from './load/all.ts';
import type { Ground, Load } from './load/load.ts';
import { uploadPages } from './load/research.ts';
import { type Growth, growthOf, type Sample, sampleMemory } from './memory.ts';
import { type SoakModel, startSoakModel } from './model.ts';
import { createRandom, type Random } from './random.ts';

export interface DayOptions extends PlanOptions {
  seed: number;
  /** Tells how the run goes. */
  say(line: string): void;
}

export interface DayResult {
  accounts: Account[];
  /** In the last process, from when it was warm to the end of the load. */
  withinLife: Growth;
  /** From the first process to the last. */
  acrossLives: Growth;
  troubles: Readonly<Record<Trouble['kind'], number>>;
  modelRequests: number;
  modelFaults: number;
  crashes: readonly string[];
  isStoppedWell: boolean;
  /** What could not be tried here, and why. */
  leftOut: string[];
}

const diskMegabytes = 512;
/** A young process grows whatever it does. */
const warmUpMs = 12_000;
const shortestWatchMs = 5000;

/** What a run has at hand. */
interface Day {
  options: DayOptions;
  fleet: Fleet;
  model: SoakModel;
  disk: Disk;
  ledger: Ledger;
  loads: Load[];
  random: Random;
  isOver: boolean;
  isUp: boolean;
  /** When the process was started that runs now. */
  startedAt: number;
  clock: MovableClock;
  sample(): Promise<Sample>;
}

/** All four services under mixed load and every kind of trouble; then everything that was accepted is accounted for. */
export async function runHardDay(options: DayOptions): Promise<DayResult> {
  const directory = temporaryDirectory();
  const reading = new AbortController();
  const day = await prepare(options, directory.path, reading.signal);
  try {
    return await live(day);
  } finally {
    day.isOver = true;
    reading.abort();
    await day.fleet.kill();
    await day.model.stop();
    day.disk.unmount();
    directory.remove();
  }
}

async function prepare(options: DayOptions, directory: string, signal: AbortSignal): Promise<Day> {
  const home = join(directory, 'home');
  mkdirSync(home);
  const disk = mountSmallDisk(home, diskMegabytes);
  const random = createRandom(options.seed);
  const model = await startSoakModel(random.fork('model'));
  const clock = movableClock(directory);
  const memoryFile = join(directory, 'memory');
  const environment = { ...clock.environment, SOAK_MEMORY_FILE: memoryFile };
  const nodeFlags = [...clock.nodeFlags, '--import', join(import.meta.dirname, 'tell-memory.ts')];
  const fleet = await createFleet({ home, modelUrl: model.url, environment, nodeFlags });
  const ground: Ground = { urls: fleet.urls, random: random.fork('loads'), now: clock.now, signal };
  const day: Day = {
    ...{ options, fleet, model, disk, random, ledger: new Ledger(), loads: allLoads(ground) },
    ...{ isOver: false, isUp: false, startedAt: 0, clock },
    sample: () => sampleMemory(fleet.pid() ?? 0, memoryFile),
  };
  return day;
}

async function live(day: Day): Promise<DayResult> {
  const { fleet, model, options } = day;
  await fleet.start();
  await uploadPages(fleet.urls.research);
  day.isUp = true;
  const end = performance.now() + options.seconds * 1000;
  const running = day.loads.map((load) => runLoad(day, load));
  const releasing = keepReleasing(day);
  const memory = await troubleTheDay(day, end);
  day.isOver = true;
  await Promise.all(running);
  model.isFaulty = false;
  const accounts = await accountFor(day);
  await releasing;
  return {
    accounts,
    withinLife: growthOf(memory.warm, memory.last),
    acrossLives: growthOf(memory.first, memory.last),
    troubles: memory.troubles,
    modelRequests: model.requests(),
    modelFaults: model.faults(),
    crashes: [...fleet.crashes()],
    isStoppedWell: await fleet.stop(),
    leftOut: day.disk.leftOut === undefined ? [] : [`a full disk: ${day.disk.leftOut}`],
  };
}

/** One offer after the other, with pauses, as long as the day lasts. */
async function runLoad(day: Day, load: Load): Promise<void> {
  const pauses = day.random.fork(load.name);
  const slug = load.name.replaceAll(' ', '-');
  for (let number = 1; !day.isOver; number += 1) {
    await delay(pauses.between(200, load.pauseMs));
    const isResting = day.ledger.entries(load.name).length >= (load.most ?? Number.POSITIVE_INFINITY);
    if (!day.isUp || day.isOver || isResting) continue;
    day.ledger.offered(load.name);
    // A connection that is cut leaves open whether it was accepted: the ledger holds only what was surely accepted.
    const entry = await load.offer(`soak-${slug}-${number}`).catch(() => undefined);
    if (entry) day.ledger.accept({ load: load.name, ...entry });
    else day.ledger.refused(load.name);
  }
}

/** What stalls goes on after some seconds; the services must bear with it until then. */
async function keepReleasing(day: Day): Promise<void> {
  while (day.model.isFaulty) {
    await delay(3000);
    day.model.release();
  }
  day.model.release();
}

async function troubleTheDay(day: Day, end: number) {
  const { options, random } = day;
  const begin = end - options.seconds * 1000;
  const counts = { kill: 0, fill: 0, jump: 0 };
  let first: Sample | undefined;
  for (const trouble of planTroubles(random.fork('plan'), options)) {
    await waitUntil(day, begin + trouble.atMs);
    first ??= await day.sample();
    if (trouble.kind === 'fill' && day.disk.leftOut !== undefined) continue;
    counts[trouble.kind] += 1;
    options.say(`${seconds(performance.now() - begin)} ${wordsFor(trouble)}`);
    await actions[trouble.kind](day, trouble);
  }
  await waitUntil(day, Math.max(begin + options.seconds * 1000 * troubledShare, day.startedAt + warmUpMs));
  const warm = await day.sample();
  await waitUntil(day, Math.max(end, performance.now() + shortestWatchMs));
  return { first: first ?? warm, warm, last: await day.sample(), troubles: counts };
}

const actions: Record<Trouble['kind'], (day: Day, trouble: Trouble) => Promise<void>> = {
  async kill(day) {
    day.isUp = false;
    await day.fleet.kill();
    await day.fleet.start();
    day.startedAt = performance.now();
    day.isUp = true;
  },
  async fill({ disk }, { amount }) {
    disk.fill();
    await delay(amount);
    disk.free();
  },
  async jump(day, { amount }) {
    day.clock.moveBy(amount);
  },
};

/** Waits, and starts the process again should it have ended by itself. */
async function waitUntil(day: Day, time: number): Promise<void> {
  do {
    if (day.fleet.pid() === undefined) await actions.kill(day, { kind: 'kill', atMs: 0, amount: 0 });
    await delay(Math.min(200, Math.max(0, time - performance.now())));
  } while (performance.now() < time);
}

function wordsFor({ kind, amount }: Trouble): string {
  if (kind === 'kill') return 'kill -9';
  return kind === 'fill'
    ? `the disk is full for ${seconds(amount)}`
    : `the clock jumps by ${seconds(amount)}`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

interface PlanOptions {
  seconds: number;
  kills: number;
  /** How often the disk is filled. */
  fills: number;
  /** How often the clock jumps. */
  jumps: number;
}

interface Trouble {
  /** Milliseconds after the start of the load. */
  atMs: number;
  kind: 'kill' | 'fill' | 'jump';
  /** How far the clock jumps, or how long the disk stays full, in milliseconds. */
  amount: number;
}

/** The last part of a run is left in peace, so that memory can be watched in one process. */
const troubledShare = 0.65;

/** Everything that will go wrong, and when: the same for the same seed. */
export function planTroubles(random: Random, { seconds, kills, fills, jumps }: PlanOptions): Trouble[] {
  const kinds: Trouble['kind'][] = [
    ...new Array<'kill'>(kills).fill('kill'),
    ...new Array<'fill'>(fills).fill('fill'),
    ...new Array<'jump'>(jumps).fill('jump'),
  ];
  const troubles = kinds.map((kind) => ({
    kind,
    atMs: seconds * 1000 * (0.08 + random.next() * (troubledShare - 0.08)),
    amount: kind === 'jump' ? jumpMs(random) : random.between(2000, 4000),
  }));
  return troubles.sort((one, other) => one.atMs - other.atMs);
}

/** Mostly ahead, by one minute to twenty; one in three goes back a little, as a corrected clock does. */
function jumpMs(random: Random): number {
  return random.chance(1 / 3) ? -random.between(1000, 5000) : random.between(60_000, 1_200_000);
}

interface Settling {
  ledger: Ledger;
  loads: readonly Load[];
}

/** Longer than the half minute after which a jump of the clock is noticed, and than the pause of an agent that failed. */
const patienceMs = 120_000;
const lookEveryMs = 1000;

/** Waits until nothing is under way any more, then looks at everything once more, so that a late second answer shows. */
async function accountFor({ ledger, loads }: Settling): Promise<Account[]> {
  const deadline = performance.now() + patienceMs;
  for (const load of loads) await settle(load, ledger.entries(load.name), deadline);
  const accounts: Account[] = [];
  for (const load of loads)
    accounts.push(ledger.account(load.name, await load.standings(ledger.entries(load.name))));
  return accounts;
}

async function settle(load: Load, entries: readonly Entry[], deadline: number): Promise<void> {
  let open = entries;
  while (open.length > 0 && performance.now() < deadline) {
    const standings = await load.standings(open);
    open = standings.filter(({ standing }) => isOpen(standing)).map(({ entry }) => entry);
    if (open.length > 0) await delay(lookEveryMs);
  }
}

/** What is missing now may still be on its way. */
function isOpen({ state }: Standing): boolean {
  return state === 'pending' || state === 'missing';
}
