// Measures products side by side: npm run bench:peers [-- NAME …] [--units 1000] [--seconds 90] [--no-install]
// Installs what the chosen ones need (npm ci in the folder of each), prints a table for each kind of work, and writes results.json.
// "npm run bench:peers -- recordings [--lines 3] [--sounds FOLDER] [--kind sentence …]" plays recordings of people to our voice
// and LiveKit's; FOLDER keeps the sounds for the next run. Writes recordings.json; what other runs measured of other kinds stays there.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, release } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { peers } from './list.ts';
import { type Measured, measure } from './measure.ts';
import type { Peer } from './peer.ts';
import { Group } from './processes.ts';
import {
  measureRecordings,
  mergeRecordings,
  products,
  type RecordingsResult,
  recordingsTable,
} from './recordings/measure.ts';
import { kinds as allKinds } from './recordings/trial.ts';

interface Entry {
  kind: Peer['kind'];
  version: string;
  at: string;
  machine: string;
  /** Of the machine in the last minute, before and after: above the number of processors, times mean little. */
  load: { before: number; after: number };
  measured?: Measured;
  /** Why there are no figures. */
  failure?: string;
}

interface Recorded {
  runs: {
    kinds: string[];
    lines: number;
    at: string;
    machine: string;
    load: { before: number; after: number };
  }[];
  products: Record<string, RecordingsResult>;
}

const here = import.meta.dirname;
const file = join(here, 'results.json');
const recordingsFile = join(here, 'recordings.json');
const { values, positionals } = parseArgs({
  allowPositionals: true,
  allowNegative: true,
  options: {
    units: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '90' },
    install: { type: 'boolean', default: true },
    lines: { type: 'string', default: '3' },
    sounds: { type: 'string' },
    kind: { type: 'string', multiple: true },
  },
});
const asksForRecordings = positionals.includes('recordings');
const names = positionals.filter((name) => name !== 'recordings');
const unknown = names.filter((id) => !peers.some((peer) => peer.id === id));
if (unknown.length > 0) {
  console.error(
    `No peer is called ${unknown.join(', ')}. There are: ${peers.map(({ id }) => id).join(', ')}, recordings.`,
  );
  process.exit(2);
}
const isEverything = positionals.length === 0;
const chosen = peers.filter(({ id, optional }) => (isEverything ? !optional : names.includes(id)));
const inRecordings = products.flatMap(({ id }) => peers.filter((peer) => peer.id === id));
const results: Record<string, Entry> = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
const limits = { units: Number(values.units), seconds: Number(values.seconds) };
const installed = asksForRecordings ? [...chosen, ...inRecordings] : chosen;
const problems = values.install ? install() : new Map<string, string>();
if (chosen.length > 0) await measureProducts();
if (asksForRecordings) await playRecordings();

async function measureProducts(): Promise<void> {
  const processes = new Group(here);
  const gateway = await processes.launch(process.execPath, [join(here, '../agent/fake-gateway.ts')], {
    ready: /(http:\S+)/,
  });
  for (const peer of chosen) {
    console.error(`${peer.name} ...`);
    results[peer.id] = await entry(peer, gateway);
    const ordered = peers.flatMap(({ id }) =>
      results[id] === undefined ? [] : [[id, results[id]] as const],
    );
    writeFileSync(file, `${JSON.stringify(Object.fromEntries(ordered), null, 2)}\n`);
  }
  await processes.stop();
  for (const kind of ['agent', 'bus', 'voice'] as const) console.log(table(kind));
}

/** Both at the same time; what one of them lacks ends the run. */
async function playRecordings(): Promise<void> {
  const [problem] = problems.values();
  if (problem !== undefined) throw new Error(`does not install: ${problem}`);
  const [before = 0] = loadavg();
  const kinds = values.kind ?? [...allKinds];
  const lines = Number(values.lines);
  const measured = await measureRecordings({ lines, folder: values.sounds, kinds });
  const earlier: Recorded = existsSync(recordingsFile)
    ? JSON.parse(readFileSync(recordingsFile, 'utf8'))
    : { runs: [], products: {} };
  const load = { before, after: loadavg()[0] ?? 0 };
  const run = { kinds, lines, at: new Date().toISOString(), machine: machine(), load };
  const runs = [...earlier.runs.filter((other) => !other.kinds.every((kind) => kinds.includes(kind))), run];
  const columns = inRecordings.flatMap((peer) => {
    const result = measured[peer.id];
    const title = `${peer.name} ${versionOf(peer)}`;
    const former = earlier.products[peer.id];
    return result === undefined
      ? []
      : [{ id: peer.id, title, result: mergeRecordings(former, result, kinds) }];
  });
  const written = Object.fromEntries(
    columns.map(({ id, title, result }) => [id, { product: title, ...result }]),
  );
  writeFileSync(recordingsFile, `${JSON.stringify({ runs, products: written }, null, 2)}\n`);
  console.log(recordingsTable(columns));
}

/** One that does not install is reported in the table; the others go on. */
function install(): Map<string, string> {
  const failed = new Map<string, string>();
  for (const folder of new Set(installed.map((peer) => peer.folder)))
    if (folder !== '../..') {
      console.error(`npm ci in bench/peers/${folder} ...`);
      try {
        const env = { ...process.env, PATH: `${join(process.execPath, '..')}:${process.env.PATH}` };
        const npm = (...args: string[]) =>
          execFileSync('npm', args, { cwd: join(here, folder), env, stdio: 'pipe' });
        npm('ci', '--ignore-scripts');
        const rebuilt = installed
          .filter((peer) => peer.folder === folder)
          .flatMap((peer) => peer.rebuild ?? []);
        if (rebuilt.length > 0) npm('rebuild', ...rebuilt);
      } catch (error) {
        const output = String((error as { stderr?: Buffer }).stderr ?? error);
        failed.set(
          folder,
          output.split('\n').find((line) => line.includes('npm error')) ?? output.slice(0, 300),
        );
      }
    }
  return failed;
}

async function entry(peer: Peer, gateway: string): Promise<Entry> {
  const [before = 0] = loadavg();
  const about = {
    kind: peer.kind,
    version: versionOf(peer),
    at: new Date().toISOString(),
    machine: machine(),
  };
  const end = (outcome: { measured: Measured } | { failure: string }): Entry => ({
    ...about,
    load: { before, after: loadavg()[0] ?? 0 },
    ...outcome,
  });
  try {
    const problem = problems.get(peer.folder);
    if (problem !== undefined) throw new Error(`does not install: ${problem}`);
    return end({ measured: await measure(peer, gateway, limits) });
  } catch (error) {
    return end({ failure: error instanceof Error ? error.message : String(error) });
  }
}

function machine(): string {
  return `${cpus().length} x ${cpus()[0]?.model.trim()}, ${process.platform} ${release()}, Node ${process.versions.node}`;
}

function versionOf({ package: name, folder }: Peer): string {
  const path = name === 'trunkline' ? 'package.json' : `node_modules/${name}/package.json`;
  try {
    return (JSON.parse(readFileSync(join(here, folder, path), 'utf8')) as { version: string }).version;
  } catch {
    return '(not installed)';
  }
}

function table(kind: Peer['kind']): string {
  const latency = kind === 'voice' ? 'end of speech to first frame, median' : 'one at a time, median';
  const head = [
    '',
    'CPU a unit',
    'of the best',
    'units a second',
    latency,
    'memory at start',
    'after load',
    'start cold',
    'warm',
    'after kill -9',
    'load',
  ];
  const shown = peers.filter((peer) => peer.kind === kind && results[peer.id] !== undefined);
  if (shown.length === 0) return '';
  const best = Math.min(
    ...shown.map(({ id }) => results[id]?.measured?.cpuMilliseconds ?? Number.POSITIVE_INFINITY),
  );
  const rows = shown.map(({ id, name }) => row(name, results[id] as Entry, best));
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function row(name: string, { version, load, measured, failure }: Entry, best: number): string[] {
  const title = `${name} ${version}`;
  if (measured === undefined) return [title, failure ?? '', ...Array.from({ length: 9 }, () => '')];
  const {
    cpuMilliseconds: cpu,
    perSecond,
    latency,
    memoryAtStart,
    memoryAfter,
    coldStart,
    warmStart,
  } = measured;
  return [
    title,
    `${figure(cpu)} ms`,
    figure(cpu / best),
    figure(perSecond),
    `${figure(latency)} ms`,
    `${figure(memoryAtStart)} MB`,
    `${figure(memoryAfter)} MB (${measured.units} units)`,
    `${figure(coldStart)} s`,
    `${figure(warmStart)} s`,
    measured.survives,
    `${figure(load.before)} to ${figure(load.after)}`,
  ];
}

function figure(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : Number(value.toPrecision(3)).toString();
}
