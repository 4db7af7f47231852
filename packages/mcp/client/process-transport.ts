import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { getDefaultEnvironment } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ReadBuffer, serializeMessage } from '@modelcontextprotocol/sdk/shared/stdio.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import {
  resolveSettings,
  type Sandbox,
  type SandboxedProcess,
  type SandboxSettings,
} from '@trunkline/sandbox';

export interface ProcessTransportOptions {
  name: string;
  command: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  sandbox: Sandbox;
  settings: SandboxSettings | undefined;
  /** Folders that the program may change unless its settings say otherwise. */
  writable: readonly string[];
}

const MAX_PROCESSES = 1024;
const END_MS = 2000;

/** Speaks with a program over its standard streams. The SDK's own transport starts it itself, outside a sandbox. */
export class ProcessTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly stderr = new PassThrough();
  readonly #options: ProcessTransportOptions;
  readonly #buffer = new ReadBuffer();
  #running: SandboxedProcess | undefined;

  constructor(options: ProcessTransportOptions) {
    this.#options = options;
  }

  get isolated(): boolean {
    return this.#running?.isolated ?? false;
  }

  async start(): Promise<void> {
    const { name, command, args, env, sandbox, settings, writable } = this.#options;
    const running = await sandbox.start({
      kind: 'mcp',
      name,
      command,
      args,
      cwd: process.cwd(),
      env: { ...getDefaultEnvironment(), ...env },
      ...resolveSettings(settings, { network: 'public', writable }),
      showsArguments: true,
      limits: { memoryMb: sandbox.memoryMb, processes: MAX_PROCESSES },
      stdin: 'pipe',
    });
    this.#running = running;
    const { child } = running;
    child.once('close', () => {
      this.#buffer.clear();
      this.onclose?.();
    });
    const fail = (error: Error) => this.onerror?.(error);
    child.stdin?.on('error', fail);
    child.stdout?.on('error', fail).on('data', (chunk: Buffer) => this.#read(chunk));
    child.stderr?.pipe(this.stderr);
    if (child.pid === undefined) {
      const [error] = await once(child, 'error');
      throw error;
    }
    child.on('error', fail);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#running?.child.stdin;
    if (stdin === null || stdin === undefined) throw new Error('Not connected');
    if (!stdin.write(serializeMessage(message))) await once(stdin, 'drain');
  }

  /** A program ends when its input does; one that does not is killed with all that it started. */
  async close(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    if (running === undefined) return;
    const { child } = running;
    if (child.exitCode === null && child.signalCode === null && child.pid !== undefined) {
      child.stdin?.end();
      await once(child, 'exit', { signal: AbortSignal.timeout(END_MS) }).catch(() => undefined);
    }
    await running.end();
  }

  #read(chunk: Buffer): void {
    try {
      this.#buffer.append(chunk);
      for (let message = this.#next(); message !== undefined; message = this.#next()) {
        if (message !== 'unreadable') this.onmessage?.(message);
      }
    } catch (error) {
      // A line beyond the limit: what follows cannot be told apart from it.
      this.onerror?.(error as Error);
      void this.close();
    }
  }

  #next(): JSONRPCMessage | 'unreadable' | undefined {
    try {
      return this.#buffer.readMessage() ?? undefined;
    } catch (error) {
      this.onerror?.(error as Error);
      return 'unreadable';
    }
  }
}
