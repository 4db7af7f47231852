// What the service answers with, as far as pages show it.

/** Every answer bears what was asked for under `data`. */
export interface Answer<Data> {
  data: Data;
}

export interface BusMessage {
  id: string;
  topic: string;
  timestamp: number;
  correlationId: string;
  parentId?: string;
  source?: { interface: string; channelId?: string; userId?: string };
  reply?: { topic: string };
  payload: unknown;
}

interface Skill {
  name: string;
  description: string;
}

export interface Agent {
  name: string;
  type: 'in-process' | 'a2a' | 'mcp';
  skills: Skill[];
  load: { running: number; waiting: number; circuit: 'closed' | 'open' | 'half-open' };
  sighting?: { reachable: boolean; at: number; error?: string } | null;
}

export interface RouteEntry {
  name: string;
  description?: string;
  when: { topic: string; match: Record<string, unknown> };
  then: { skill: string; agent?: string; topic?: string };
  enabled: boolean;
}

export interface McpServer {
  name: string;
  trust: 'builtin' | 'trusted' | 'community';
  transport: 'stdio' | 'sse' | 'http';
  enabled: boolean;
  error: string | null;
  command?: string;
  args?: string[];
  env?: string[];
  url?: string;
  grants?: string[];
}

/** A part of the switchboard that may be off. */
export interface PartStatus {
  name: string;
  kind?: 'surface';
  state: 'off' | 'waiting' | 'running' | 'failed';
  words?: string;
}

export interface Usage {
  inputTokens: number;
  outputTokens: number;
  totalTokens: number;
  costUsd?: number;
}
