// Tries other implementations of A2A against the real services, in both directions: npm run interop [-- PEER …] [--no-install]
// A peer is a file in peers/. Prints what docs/a2a.md sums up; ends with 1 when a case fails.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { callsToPeers, type PeerCase, peerCases } from './calls-to-peers.ts';
import { callsToUs } from './calls-to-us.ts';
import { type Case, cases, type Peer, type Reasons } from './peer.ts';
import { type ServiceName, startServices } from './services.ts';

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
const services = await startServices(servers.map(({ id, url }) => ({ name: id, url })));
try {
  const others = ['voice', 'research', 'switchboard'] as const;
  print(await callsIn());
  print(await callsInOthers(others));
  print(await callsOut());
} finally {
  await services.stop();
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
      const { peer } = (await import(`./peers/${file}`)) as { peer: Peer };
      loaded.push({ ...peer, name: `${peer.name} (${versionOf(peer)})` });
    } catch (error) {
      notes.push(`- FAILS ${file} does not load: ${reason(error)}`);
    }
  return loaded;
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

async function callsIn(): Promise<string> {
  const service = { url: services.urls.agent, question: 'what is 12*7+3', answer: '87' };
  return table('They call our agent', cases, await clientRows(cases, service));
}

async function callsInOthers(names: readonly Exclude<ServiceName, 'agent'>[]): Promise<string> {
  const few = ['card', 'send', 'stream'] as const;
  const rows = new Map<string, string[]>();
  for (const name of names) {
    const service = {
      url: services.urls[name],
      ...(name === 'research'
        ? { question: 'When was the lighthouse of Ulm built?', answer: '1904' }
        : { question: 'what is 12*7+3', answer: '87' }),
    };
    for (const [title, ...cells] of await clientRows(few, service, `${name}: `))
      rows.set(title ?? '', [...(rows.get(title ?? '') ?? []), ...cells]);
  }
  const heads = names.flatMap((name) => few.map((one) => `${name}: ${one}`));
  return table(
    'They call our other services',
    heads,
    [...rows].map(([title, cells]) => [title, ...cells]),
  );
}

async function clientRows(
  tried: readonly Case[],
  service: Parameters<(typeof callsToUs)['card']>[1],
  prefix = '',
): Promise<string[][]> {
  const rows: string[][] = [];
  for (const { name, clients = {} } of peers)
    for (const [way, { connect, lacks = {}, fails = {} }] of Object.entries(clients)) {
      const title = `${name}, ${way}`;
      const row = [title];
      for (const one of tried)
        row.push(
          await outcome(
            `${prefix}${title}, ${one}`,
            lacks[one],
            fails[one] ?? fails[`${prefix}${one}`],
            async () => callsToUs[one](await connect(service.url), service),
          ),
        );
      rows.push(row);
    }
  return rows;
}

async function callsOut(): Promise<string> {
  const tried: readonly PeerCase[] = [...cases, ...peerCases];
  const rows: string[][] = [];
  for (const { id, title, lacks, fails, url } of servers) {
    const row = [title];
    for (const one of tried) {
      const target = { name: id, url, services, cancels: lacks.cancel === undefined };
      row.push(
        await outcome(`we call ${title}, ${one}`, lacks[one], fails[one], () => callsToPeers[one](target)),
      );
    }
    rows.push(row);
  }
  return table('We call them', [...cases, 'as a delegate of the agent', 'through the switchboard'], rows);
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
