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
  url: string;
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

/** A real NATS server with JetStream on a free port of the loopback, its store in a temporary directory. */
export async function startNatsServer(options: NatsServerOptions = {}): Promise<NatsServer> {
  const directory = temporaryDirectory();
  const port = await freePort();
  const file = join(directory.path, 'nats.conf');
  writeFileSync(file, configurationText(port, directory.path, options.configuration ?? ''));
  let child = await launch(file);
  const kill = (signal: NodeJS.Signals = 'SIGKILL') => end(child, signal);
  return {
    port,
    url: `nats://127.0.0.1:${port}`,
    kill,
    async start() {
      child = await launch(file);
    },
    async stop() {
      await kill();
      directory.remove();
    },
  };
}

function configurationText(port: number, directory: string, more: string): string {
  const store = JSON.stringify(join(directory, 'store'));
  return `listen: 127.0.0.1:${port}\njetstream { store_dir: ${store} }\n${more}\n`;
}

async function launch(file: string): Promise<ChildProcess> {
  const child = spawn(command ?? 'nats-server', ['-c', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-20_000);
  });
  const state = await waitFor(() => readiness(child, log), { timeoutMs: 20_000 });
  if (state === 'ended') throw new Error(`nats-server ended at once:\n${log}`);
  return child;
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
