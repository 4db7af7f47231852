import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryDirectory } from './directory.ts';
import { freePort } from './network.ts';
import { waitFor } from './wait.ts';

export interface NatsServerOptions {
  /** More lines for the server's configuration file, such as `authorization` or `tls`. */
  configuration?: string;
}

export interface NatsServer {
  port: number;
  /** Of the process that runs now, for signals that do not end it. */
  readonly pid: number;
  url: string;
  /** The address of its monitoring pages. */
  monitor: string;
  /** The folder of JetStream's store. */
  store: string;
  /** The end of the log of the process that runs now. */
  log(): string;
  /** Ends the process, with SIGKILL unless another signal is named, and keeps its store. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Starts it again on the same port and store. */
  start(): Promise<void>;
  /** Ends it and removes its store. */
  stop(): Promise<void>;
}

/** The command to run, or undefined on a machine without a NATS server. Debian puts it where only root's path looks. */
function findNatsServer(): string | undefined {
  return ['nats-server', '/usr/sbin/nats-server'].find((name) => spawnSync(name, ['--version']).status === 0);
}

const command = findNatsServer();

/** Why tests that need a NATS server cannot run here; undefined when they can. */
export const natsMissing: string | undefined =
  command === undefined ? 'nats-server is not installed (Debian: apt-get install nats-server)' : undefined;

/** Such as 2.10.27. */
export const natsVersion: string | undefined =
  command && /v(\d[\d.]*)/.exec(spawnSync(command, ['--version'], { encoding: 'utf8' }).stdout)?.[1];

export interface NatsCluster {
  /** By name: `n1`, `n2` and so on. */
  servers: Record<string, NatsServer>;
  /** The addresses of all, for NATS_URL. */
  url: string;
  stop(): Promise<void>;
}

/** Real NATS servers in a cluster named `test`. They elect a leader within seconds, so open a bus that waits. */
export async function startNatsCluster({ size = 3, ...options }: NatsServerOptions & { size?: number } = {}) {
  const names = Array.from({ length: size }, (_, index) => `n${index + 1}`);
  const routes: number[] = [];
  for (const _ of names) routes.push(await freePort());
  const addresses = routes.map((port) => `nats-route://127.0.0.1:${port}`).join(', ');
  const start = (name: string, index: number) =>
    startNatsServer({
      configuration: `server_name: ${name}\ncluster { name: test, listen: 127.0.0.1:${routes[index]}, routes: [${addresses}] }\n${options.configuration ?? ''}`,
    });
  const started = await Promise.all(names.map(start));
  const cluster: NatsCluster = {
    servers: Object.fromEntries(names.map((name, index) => [name, started[index] as NatsServer])),
    url: started.map(({ url }) => url).join(','),
    async stop() {
      await Promise.all(started.map((server) => server.stop()));
    },
  };
  return cluster;
}

/** A real NATS server with JetStream on a free port of the loopback, its store in a temporary directory. */
export async function startNatsServer(options: NatsServerOptions = {}): Promise<NatsServer> {
  const directory = temporaryDirectory();
  const [port, monitorPort] = [await freePort(), await freePort()];
  const monitor = `127.0.0.1:${monitorPort}`;
  const file = join(directory.path, 'nats.conf');
  const configuration = `http: ${monitor}\n${options.configuration ?? ''}`;
  writeFileSync(file, configurationText(port, directory.path, configuration));
  let { child, log } = await launch(file);
  const kill = (signal: NodeJS.Signals = 'SIGKILL') => end(child, signal);
  return {
    port,
    url: `nats://127.0.0.1:${port}`,
    monitor: `http://${monitor}`,
    store: storeIn(directory.path),
    get pid() {
      return child.pid as number;
    },
    log: () => log(),
    kill,
    async start() {
      ({ child, log } = await launch(file));
    },
    async stop() {
      await kill();
      directory.remove();
    },
  };
}

function storeIn(directory: string): string {
  return join(directory, 'store');
}

function configurationText(port: number, directory: string, more: string): string {
  const store = JSON.stringify(storeIn(directory));
  return `listen: 127.0.0.1:${port}\njetstream { store_dir: ${store} }\n${more}\n`;
}

async function launch(file: string): Promise<{ child: ChildProcess; log(): string }> {
  const child = spawn(command ?? 'nats-server', ['-c', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-20_000);
  });
  const state = await waitFor(() => readiness(child, log), { timeoutMs: 60_000 });
  if (state === 'ended') throw new Error(`nats-server ended at once:\n${log}`);
  return { child, log: () => log };
}

function readiness(child: ChildProcess, log: string): 'ready' | 'ended' | undefined {
  if (child.exitCode !== null || child.signalCode !== null) return 'ended';
  return log.includes('Server is ready') ? 'ready' : undefined;
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}
