import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { loadYaml } from '@trunkline/config';
import type { GuardedFetch } from '@trunkline/http';
import type { Sandbox } from '@trunkline/sandbox';
import { errorMessage } from '@trunkline/std';
import { resolveInside } from '@trunkline/storage';
import { z } from 'zod';
import { type FromPlugin, fromPlugin, type PluginToolHead, type ToPlugin } from './messages.ts';

/** From this one, `--permission` denies the network too. */
const NODE_DENIES_NETWORK = process.allowedNodeEnvironmentFlags.has('--allow-net');

const PROBE_TIMEOUT_MS = 5000;

const PLACES = ['/usr/bin/unshare', '/bin/unshare'];

/** A network without interfaces, and process ids in which the service does not exist; all ends with `unshare` itself. */
const NAMESPACES = ['--net', '--pid', '--fork', '--kill-child'];

/** An account needs a user namespace to make the others; where those are forbidden, root can do without. */
const WAYS = [['--user', '--map-current-user', ...NAMESPACES], NAMESPACES];

let found: Promise<Confinement> | undefined;

/** Only what Node itself enforces. */
export const unconfined: Confinement = {
  prefix: [],
  unenforced: [...(NODE_DENIES_NETWORK ? [] : ['network']), 'signals to other processes'],
};

/** Nothing goes before the program, as the sandbox denies all. */
export const sandboxed: Confinement = { prefix: [], unenforced: [] };

/** What a plugin says of itself, and all that it may do. */
const manifestSchema = z.strictObject({
  id: z.string().regex(/^[a-z][a-z0-9-]{0,63}$/, 'use small letters, digits and -'),
  description: z.string().default(''),
  /** The module, beside the manifest. */
  entry: z.string().default('index.js'),
  timeout_s: z.number().positive().max(600).default(30),
  permissions: z
    .strictObject({
      /** Hosts that it may fetch from; `*.example.com` stands for all below. */
      network: z.array(z.string()).default([]),
      /** Variables that it sees. */
      environment: z.array(z.string().regex(/^[A-Z][A-Z0-9_]*$/)).default([]),
    })
    .prefault({}),
});

export interface PluginProcessOptions {
  directory: string;
  manifest: Manifest;
  /** The variables that it may see, with their values. */
  environment: Readonly<Record<string, string>>;
  fetch: GuardedFetch;
  confinement: Confinement;
  sandbox?: Sandbox | undefined;
}

const HOST = fileURLToPath(new URL('./plugin-host.ts', import.meta.url));
const START_TIMEOUT_MS = 15_000;
const MAX_FETCHES = 10;
/** Of one message of a plugin. */
const MAX_LINE_LENGTH = 16 * 1024 ** 2;
/** What a plugin may leave unread before it is killed. */
const MAX_UNREAD_BYTES = 64 * 1024 ** 2;

/** More than the heap that Node may have, for what Node itself needs. */
const MEMORY_MB = 512;
const MAX_PROCESSES = 64;

/** The process of one plugin. When it has died, the next call starts a new one. */
export class PluginProcess {
  readonly #options: PluginProcessOptions;
  readonly #calls = new Map<number, PromiseWithResolvers<string> & { child: ChildProcess }>();
  #child: ChildProcess | undefined;
  #started: Promise<{ child: ChildProcess; tools: PluginToolHead[] }> | undefined;
  #closed = false;
  #underWay = 0;
  #count = 0;
  #fetches = 0;

  constructor(options: PluginProcessOptions) {
    this.#options = options;
  }

  async tools(): Promise<PluginToolHead[]> {
    return (await this.#start()).tools;
  }

  async call(tool: string, input: unknown, signal: AbortSignal): Promise<string> {
    this.#underWay += 1;
    try {
      return await this.#call(tool, input, signal);
    } finally {
      this.#underWay -= 1;
      if (this.#closed) await this.close();
    }
  }

  async #call(tool: string, input: unknown, signal: AbortSignal): Promise<string> {
    const { child } = await this.#start();
    this.#count += 1;
    const id = this.#count;
    const waiting = Promise.withResolvers<string>();
    this.#calls.set(id, { ...waiting, child });
    tell(child, { type: 'call', id, tool, input });
    const { manifest } = this.#options;
    const limit = AbortSignal.timeout(manifest.timeout_s * 1000);
    // Code that does not come back is stopped with its process.
    const stop = () => {
      waiting.reject(
        signal.aborted
          ? signal.reason
          : new Error(`the plugin ${manifest.id} took longer than ${manifest.timeout_s} s.`),
      );
      child.kill('SIGKILL');
      this.#forget(child);
    };
    const ended = AbortSignal.any([signal, limit]);
    ended.addEventListener('abort', stop, { once: true });
    try {
      return await waiting.promise;
    } finally {
      ended.removeEventListener('abort', stop);
      this.#calls.delete(id);
    }
  }

  /** Calls under way come to their end first, and so do those of turns that still hold the tools. */
  async close(): Promise<void> {
    this.#closed = true;
    const [started] = await Promise.allSettled([this.#started]);
    if (this.#underWay > 0 || started.status !== 'fulfilled' || started.value === undefined) return;
    const { child } = started.value;
    child.kill('SIGKILL');
    this.#forget(child);
  }

  #start() {
    this.#started ??= this.#launch();
    return this.#started;
  }

  async #launch(): Promise<{ child: ChildProcess; tools: PluginToolHead[] }> {
    const child = await this.#spawn();
    this.#child = child;
    const ready = Promise.withResolvers<PluginToolHead[]>();
    const timer = setTimeout(() => ready.reject(new Error('it did not start in time')), START_TIMEOUT_MS);
    readMessages(child, (message) => this.#hear(child, message, ready));
    child.once('error', (error) => ready.reject(error));
    child.once('close', () => this.#lost(child, ready));
    try {
      return { child, tools: await ready.promise };
    } catch (error) {
      child.kill('SIGKILL');
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** No rights to processes, threads and addons; files can be read in its own directory only. */
  async #spawn(): Promise<ChildProcess> {
    const { manifest, environment, confinement, sandbox } = this.#options;
    const directory = realpathSync(this.#options.directory);
    const entry = resolveInside(directory, manifest.entry);
    const readable = [directory, import.meta.dirname].map((path) => `--allow-fs-read=${path}`);
    const flags = ['--permission', ...readable, '--max-old-space-size=128', '--no-warnings'];
    if (sandbox !== undefined) {
      const running = await sandbox.start({
        command: process.execPath,
        args: [...flags, HOST, entry],
        cwd: directory,
        env: environment,
        writable: [],
        readOnly: [directory, import.meta.dirname],
        network: 'none',
        limits: { memoryMb: MEMORY_MB, processes: MAX_PROCESSES },
        stdout: 'ignore',
        channel: true,
      });
      return running.child;
    }
    const [command = '', ...args] = [...confinement.prefix, process.execPath, ...flags, HOST, entry];
    return spawn(command, args, {
      cwd: directory,
      env: { ...environment },
      stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
      // A process group of its own: a signal to the group would reach the service also from another namespace.
      detached: true,
    });
  }

  #hear(child: ChildProcess, message: FromPlugin, ready: PromiseWithResolvers<PluginToolHead[]>): void {
    if (message.type === 'ready') ready.resolve(message.tools);
    else if (message.type === 'failed') ready.reject(new Error(message.error));
    else if (message.type === 'call-end') {
      const waiting = this.#calls.get(message.id);
      if (message.text === undefined) waiting?.reject(new Error(message.error ?? 'it failed'));
      else waiting?.resolve(message.text);
    } else {
      this.#fetch(message).then(
        (response) => tell(child, { type: 'fetch-end', id: message.id, response }),
        (error: unknown) =>
          tell(child, {
            type: 'fetch-end',
            id: message.id,
            error: errorMessage(error),
          }),
      );
    }
  }

  async #fetch({ url, request }: Extract<FromPlugin, { type: 'fetch-start' }>) {
    const { manifest, fetch } = this.#options;
    const address = URL.parse(url);
    if (address === null || !mayFetch(address, manifest.permissions.network))
      throw new Error(
        `the plugin ${manifest.id} may not fetch from ${address?.hostname ?? url}: its manifest does not list it.`,
      );
    if (this.#fetches >= MAX_FETCHES) throw new Error(`no more than ${MAX_FETCHES} fetches at once.`);
    this.#fetches += 1;
    try {
      const { method = 'GET', headers = {}, body } = request;
      const response = await fetch(address, { method, headers, ...(body !== undefined && { body }) });
      return { status: response.status, contentType: response.contentType, text: response.text() };
    } finally {
      this.#fetches -= 1;
    }
  }

  #lost(child: ChildProcess, ready: PromiseWithResolvers<PluginToolHead[]>): void {
    this.#forget(child);
    const error = new Error(`the plugin ${this.#options.manifest.id} has stopped.`);
    ready.reject(error);
    for (const waiting of this.#calls.values()) if (waiting.child === child) waiting.reject(error);
  }

  /** The next call starts a new process unless one has started already. */
  #forget(child: ChildProcess): void {
    if (this.#child === child) this.#started = undefined;
  }
}

function channelOf(child: ChildProcess): Duplex | undefined {
  return child.stdio[3] as Duplex | undefined;
}

function tell(child: ChildProcess, message: ToPlugin): void {
  const channel = channelOf(child);
  // A process that has just died takes nothing; its end fails the calls that wait.
  if (!channel?.writable) return;
  channel.write(`${JSON.stringify(message)}\n`);
  if (channel.writableLength > MAX_UNREAD_BYTES) child.kill('SIGKILL');
}

/** Hands on what is a message, one a line. A process whose line has no end is killed. */
function readMessages(child: ChildProcess, onMessage: (message: FromPlugin) => void): void {
  let pieces: string[] = [];
  let length = 0;
  const channel = channelOf(child);
  channel?.on('error', () => child.kill('SIGKILL'));
  channel?.setEncoding('utf8').on('data', (chunk: string) => {
    const [first = '', ...others] = chunk.split('\n');
    pieces.push(first);
    length += first.length;
    for (const next of others) {
      const message = fromPlugin.safeParse(parsedJson(pieces.join('')));
      pieces = [next];
      length = next.length;
      if (message.success) onMessage(message.data);
    }
    if (length <= MAX_LINE_LENGTH) return;
    channel.destroy();
    child.kill('SIGKILL');
  });
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export type Manifest = z.output<typeof manifestSchema>;

export async function readManifest(directory: string): Promise<Manifest> {
  return await loadYaml(join(directory, 'plugin.yaml'), manifestSchema);
}

export function mayFetch(url: URL, network: readonly string[]): boolean {
  const host = url.hostname.toLowerCase();
  return network.some((rule) => {
    const name = rule.toLowerCase();
    return name.startsWith('*.') ? host.endsWith(name.slice(1)) : host === name;
  });
}

/** What keeps a plugin's process from the network and from signalling other processes. */
export interface Confinement {
  /** Goes before the program and its arguments. */
  prefix: readonly string[];
  /** Denials that this system does not enforce, for people. */
  unenforced: readonly string[];
}

/** The confinement that this system allows, tried out once. */
export function findConfinement(): Promise<Confinement> {
  found ??= probe();
  return found;
}

async function probe(): Promise<Confinement> {
  const command = process.platform === 'linux' ? PLACES.find((place) => existsSync(place)) : undefined;
  if (command === undefined) return unconfined;
  for (const flags of WAYS) {
    if (await works(command, [...flags, process.execPath, '--version']))
      return { prefix: [command, ...flags], unenforced: [] };
  }
  return unconfined;
}

function works(command: string, args: readonly string[]): Promise<boolean> {
  return new Promise((resolve) => {
    execFile(command, args, { timeout: PROBE_TIMEOUT_MS, killSignal: 'SIGKILL', env: {} }, (error) =>
      resolve(error === null),
    );
  });
}
