import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as agent from '@trunkline/agent';
import { createLogger, readOptions } from '@trunkline/config';
import * as research from '@trunkline/research';
import * as switchboard from '@trunkline/switchboard';
import * as voice from '@trunkline/voice';

interface Operation {
  summary?: string;
  responses?: Record<string, { description?: string }>;
  security?: unknown[];
}

interface Tool {
  name: string;
  description: string;
}

export interface ServiceFacts {
  name: string;
  paths: Record<string, Record<string, Operation>>;
}

/** Starts each service with nothing set, and asks it for its routes; the agent also for its tools. */
export async function readServices(): Promise<{ services: ServiceFacts[]; tools: Tool[] }> {
  const home = mkdtempSync(join(tmpdir(), 'trunkline-docs-'));
  try {
    return await ask(home);
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

async function ask(home: string): Promise<{ services: ServiceFacts[]; tools: Tool[] }> {
  const logger = createLogger({ name: 'docs', level: 'ERROR' });
  const env = { TRUNKLINE_HOME: home, PORT: '0', AGENT_PORT: '0', SWITCHBOARD_PORT: '0' };
  const given = { logger, env };
  const services: ServiceFacts[] = [];
  let tools: Tool[] = [];
  const starters = {
    voice: () => voice.start(readOptions(voice.voiceOptions, { env }), given),
    agent: () => agent.start(readOptions(agent.agentOptions, { env }), given),
    research: () => research.start(readOptions(research.researchOptions, { env }), given),
    switchboard: () => switchboard.start(readOptions(switchboard.switchboardOptions, { env }), given),
  };
  for (const [name, start] of Object.entries(starters)) {
    const service = await start();
    const { paths } = (await get(`${service.url}/openapi.json`)) as Pick<ServiceFacts, 'paths'>;
    services.push({ name, paths });
    if (name === 'agent') tools = ((await get(`${service.url}/api/tools`)) as { tools: Tool[] }).tools;
    await service.stop();
  }
  return { services, tools };
}

async function get(url: string): Promise<unknown> {
  const response = await fetch(url, { signal: AbortSignal.timeout(15_000) });
  if (!response.ok) throw new Error(`${url} answered ${response.status}`);
  return await response.json();
}
