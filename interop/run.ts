// Tries other implementations of A2A against the real services, in both directions: npm run interop [-- PEER …] [--no-install]
// A peer is a file in peers/. Prints what docs/a2a.md sums up; ends with 1 when a case fails.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { callsByServices, callsToPeers, serviceCases } from './calls-to-peers.ts';
import { callsToUs, type Service } from './calls-to-us.ts';
import { cases, type Peer, type Reasons } from './peer.ts';
import { type ServiceName, startServices } from './services.ts';

/** What a service has not, and why. */
const notOffered: Partial<Record<ServiceName, Reasons>> = {
  voice: {
    question: 'voice always answers: what it wants to know, it asks in the answer',
    files: 'voice takes text alone, as its card says, and refuses files (-32005)',
  },
  research: {
    question: 'research works on a topic to its end and never asks',
    files: 'research takes text alone, as its card says, and refuses files (-32005)',
  },
};

const limitMs = 20_000;
const here = import.meta.dirname;
const { values, positionals } = parseArgs({
  allowPositionals: true,
  allowNegative: true,
  options: { install: { type: 'boolean', default: true } },
});
if (values.install) {
  console.error('npm ci in interop ...');
  execFileSync('npm', ['ci', '--ignore-scripts'], { cwd: here, stdio: ['ignore', 'ignore', 'inherit'] });
}

// Some peers narrate every request on standard output.
const print = console.log;
for (const name of ['log', 'info', 'warn', 'debug', 'error'] as const) console[name] = () => undefined;

const notes: string[] = [];
const peers = await loadPeers();
const servers = await startServers();
// Told to wait, it does so until it is cancelled: a service of ours that asks it works as long.
const official = await load('sdk-1.js');
const endless = await official.servers?.['JSON-RPC']?.start();
if (endless === undefined) throw new Error('peers/sdk-1.js has no server for JSON-RPC');
const services = await startServices([
  ...servers.map(({ id, url }) => ({ name: id, url })),
  { name: 'endless', url: endless.url },
]);
try {
  for (const name of ['agent', 'voice', 'research', 'switchboard'] as const) print(await callsIn(name));
  print(await callsOut());
  print(await callsByUs());
} finally {
  await services.stop();
  await endless.stop();
  for (const { stop } of servers) await stop();
}
print(notes.join('\n'));
process.exit(notes.some((note) => note.startsWith('- FAILS')) ? 1 : 0);

interface Started {
  id: string;
  title: string;
  lacks: Reasons;
  fails: Reasons;
  url: string;
  stop(): Promise<void> | void;
}

async function loadPeers(): Promise<Peer[]> {
  const files = readdirSync(join(here, 'peers')).filter(
    (file) => positionals.length === 0 || positionals.includes(file.replace(/\.js$/, '')),
  );
  const loaded: Peer[] = [];
  for (const file of files)
    try {
      const peer = await load(file);
      loaded.push({ ...peer, name: `${peer.name} (${versionOf(peer)})` });
    } catch (error) {
      notes.push(`- FAILS ${file} does not load: ${reason(error)}`);
    }
  return loaded;
}

async function load(file: string): Promise<Peer> {
  return ((await import(`./peers/${file}`)) as { peer: Peer }).peer;
}

function versionOf({ package: name }: Peer): string {
  const manifest = readFileSync(join(here, 'node_modules', name, 'package.json'), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}

async function startServers(): Promise<Started[]> {
  const started: Started[] = [];
  for (const { name, servers: all = {} } of peers)
    for (const [way, { start, lacks = {}, fails = {} }] of Object.entries(all))
      try {
        const id = `peer-${started.length}`;
        started.push({ id, title: `${name}, ${way}`, lacks, fails, ...(await start()) });
      } catch (error) {
        notes.push(`- FAILS ${name}, ${way}: the server does not start: ${reason(error)}`);
      }
  return started;
}

function serviceOf(name: ServiceName): Service {
  const url = services.urls[name];
  if (name === 'research')
    return {
      url,
      question: 'When was the lighthouse of Ulm built?',
      answer: '1904',
      endless: 'Towers of Ulm',
    };
  const sum = { url, question: 'what is 12*7+3', answer: '87' };
  // Work that the switchboard has handed on goes on after a cancel, and takes a place of the helm.
  return name === 'voice' ? { ...sum, endless: 'ask endless to wait' } : sum;
}

async function callsIn(name: ServiceName): Promise<string> {
  const service = serviceOf(name);
  const prefix = name === 'agent' ? '' : `${name}: `;
  const rows: string[][] = [];
  if (notOffered[name]?.files !== undefined) await requireRefusal(name, service);
  for (const { name: peer, clients = {} } of peers)
    for (const [way, { connect, lacks = {}, fails = {} }] of Object.entries(clients)) {
      const title = `${peer}, ${way}`;
      const row = [title];
      for (const one of cases) {
        const missing = notOffered[name]?.[one];
        if (missing !== undefined) {
          row.push('n/a');
          continue;
        }
        services.holdSearch(name === 'research' && ['resubscribe', 'cancel', 'push'].includes(one));
        const own = `${prefix}${one}`;
        const fault = fails[own in fails ? own : one];
        const attempt = async () => callsToUs[one](await connect(service.url), service);
        row.push(await outcome(`${prefix}${title}, ${one}`, lacks[one], fault, attempt));
      }
      rows.push(row);
    }
  services.holdSearch(false);
  for (const [one, why] of Object.entries(notOffered[name] ?? {}))
    notes.push(`- ${name}, ${one}: n/a, ${why}`);
  return table(`They call our ${name}`, cases, rows);
}

/** A file to a service that takes none. */
async function requireRefusal(name: ServiceName, { url }: Service): Promise<void> {
  const parts = [{ kind: 'file', file: { bytes: 'aGk=', name: 'a.png', mimeType: 'image/png' } }];
  const params = { message: { kind: 'message', messageId: 'file', role: 'user', parts } };
  const response = await fetch(`${url}/a2a`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'message/send', params }),
  });
  const { error } = (await response.json()) as { error?: { code: number } };
  if (error?.code !== -32005)
    notes.push(`- FAILS ${name}: a file is answered with ${error?.code ?? 'a task'}`);
}

async function callsOut(): Promise<string> {
  return table('We call them', cases, await serverRows(cases, callsToPeers));
}

async function callsByUs(): Promise<string> {
  return table('Our services call them', serviceCases, await serverRows(serviceCases, callsByServices));
}

async function serverRows<Name extends string>(
  tried: readonly Name[],
  calls: Record<Name, (target: Parameters<(typeof callsToPeers)['card']>[0]) => Promise<void>>,
): Promise<string[][]> {
  const rows: string[][] = [];
  for (const { id, title, lacks, fails, url } of servers) {
    const row = [title];
    for (const one of tried) {
      const target = { name: id, url, services, cancels: lacks.cancel === undefined };
      // What a server cannot do, it cannot do for a service either; the webhooks are then our own.
      const [, plain = one] = one.split(': ');
      const lack = one === 'switchboard: push' || one === 'switchboard: cancel' ? undefined : lacks[plain];
      const fault = fails[one] ?? (one === 'switchboard: push' ? undefined : fails[plain]);
      row.push(await outcome(`we call ${title}, ${one}`, lack, fault, () => calls[one](target)));
    }
    rows.push(row);
  }
  return rows;
}

async function outcome(
  what: string,
  lack: string | undefined,
  fault: string | undefined,
  attempt: () => Promise<void>,
): Promise<string> {
  if (lack !== undefined) {
    notes.push(`- ${what}: ${lack}`);
    return '–';
  }
  const limit = Promise.withResolvers<never>();
  const timer = setTimeout(() => limit.reject(new Error(`took over ${limitMs / 1000} s`)), limitMs);
  try {
    await Promise.race([attempt(), limit.promise]);
    if (fault !== undefined)
      notes.push(`- FAILS ${what}: it works now; take it out of \`fails\` of the peer (${fault})`);
    return 'yes';
  } catch (error) {
    if (fault !== undefined) {
      notes.push(`- ${what}: ${fault}`);
      return 'no';
    }
    notes.push(`- FAILS ${what}: ${reason(error)}`);
    return '**no**';
  } finally {
    clearTimeout(timer);
  }
}

function table(head: string, columns: readonly string[], rows: readonly string[][]): string {
  const lines = [[head, ...columns], ['', ...columns].map(() => '---'), ...rows];
  return `${lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n`;
}

function reason(error: unknown): string {
  return (error instanceof Error ? error.message : String(error))
    .split('\n')
    .slice(0, 2)
    .join(' ')
    .slice(0, 300);
}
