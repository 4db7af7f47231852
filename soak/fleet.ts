import { join } from 'node:path';
import { strayFailure } from '@trunkline/service';
import { type Child, freePort, startChild } from '@trunkline/testing';

export type ServiceName = 'voice' | 'agent' | 'research' | 'switchboard';

export interface FleetOptions {
  /** Where all data lies. */
  home: string;
  /** Variables on top of home, ports and model. */
  environment?: Record<string, string>;
  modelUrl: string;
  nodeFlags?: string[];
}

/** All four services as one process, which keeps its ports and its data however often it is killed. */
export interface Fleet {
  urls: Readonly<Record<ServiceName, string>>;
  start(): Promise<void>;
  /** Ends the process at once, as `kill -9` does. */
  kill(): Promise<void>;
  /** Ends it in good order; says whether it went as it should. */
  stop(): Promise<boolean>;
  /** The process that runs at the moment. */
  pid(): number | undefined;
  /** How each process ended that nobody had ended, and what failed in one without ending it. */
  crashes(): readonly string[];
}

const launcher = join(import.meta.dirname, '../bin/trunkline.js');
const startTimeoutMs = 120_000;

export async function createFleet(options: FleetOptions): Promise<Fleet> {
  const ports = {
    voice: await freePort(),
    agent: await freePort(),
    research: await freePort(),
    switchboard: await freePort(),
  };
  const environment = environmentOf(options, ports);
  const crashes: string[] = [];
  let running: Child | undefined;
  const end = async (signal: NodeJS.Signals) => {
    const child = running;
    running = undefined;
    const exit = await child?.kill(signal);
    crashes.push(...strayFailures(child));
    return exit;
  };
  const watch = async (child: Child) => {
    const { code, signal } = await child.exited;
    if (running !== child) return;
    running = undefined;
    crashes.push(`the process ended by itself (${signal ?? code}):\n${lastLines(child.output())}`);
  };
  return {
    urls: {
      voice: `http://127.0.0.1:${ports.voice}`,
      agent: `http://127.0.0.1:${ports.agent}`,
      research: `http://127.0.0.1:${ports.research}`,
      switchboard: `http://127.0.0.1:${ports.switchboard}`,
    },
    async start() {
      const { home: directory, nodeFlags = [] } = options;
      const child = startChild(launcher, { arguments: ['up'], environment, directory, nodeFlags });
      running = child;
      child.exited.then(
        () => watch(child),
        (error: unknown) => crashes.push(String(error)),
      );
      await child.waitForLine('Ctrl-C stops everything', startTimeoutMs);
    },
    kill: async () => void (await end('SIGKILL')),
    stop: async () => (await end('SIGTERM'))?.code === 0,
    pid: () => running?.pid,
    crashes: () => crashes,
  };
}

/** The service goes on after them, but each is a defect. */
function strayFailures(child: Child | undefined): string[] {
  return (child?.output() ?? '').split('\n').filter((line) => line.includes(strayFailure));
}

function lastLines(output: string): string {
  return output.trimEnd().split('\n').slice(-15).join('\n');
}

function environmentOf(options: FleetOptions, ports: Record<ServiceName, number>): Record<string, string> {
  return {
    HOME: options.home,
    TRUNKLINE_HOME: options.home,
    VOICE_PORT: String(ports.voice),
    AGENT_PORT: String(ports.agent),
    RESEARCH_PORT: String(ports.research),
    SWITCHBOARD_PORT: String(ports.switchboard),
    LLM_GATEWAY_URL: options.modelUrl,
    LLM_API_KEY: 'soak-key',
    LLM_MODEL: 'soak-model',
    NATS_URL: '',
    RESEARCH_KEYLESS_SEARCH: '0',
    LOG_LEVEL: 'WARNING',
    ...options.environment,
  };
}
