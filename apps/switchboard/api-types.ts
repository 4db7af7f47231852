// What the routes answer with. The server builds these; the console imports them as types.
import type { CircuitState } from '@trunkline/std';
import type { OfferedSkill } from './dispatch/executor.ts';
import type { Ceremony } from './workspace/schema/agent.ts';
import type { CronRecord } from './workspace/schema/cron.ts';

export type { DeadLetter, Message as BusMessage } from '@trunkline/bus';
export type { SkillUsage } from './dispatch/executor.ts';
export type { Route } from './workspace/schema/agent.ts';
export type { Incident } from './workspace/schema/channels.ts';

/** The body of every successful answer. */
export interface Answer<Data> {
  data: Data;
}

export type FlowStatus = 'active' | 'blocked' | 'complete';

type FlowStage = 'dispatched' | 'running' | 'error' | 'done';

/** One dispatch of a skill, from request to answer. */
export interface Flow {
  id: string;
  type: 'skill';
  status: FlowStatus;
  stage: FlowStage;
  createdAt: number;
  startedAt: number | null;
  completedAt: number | null;
  durationMs: number | null;
  skill: string;
  /** How the text that it began with begins; null when there was none. */
  requestPreview: string | null;
  executorType: string | null;
  targetAgent: string | null;
  errorPreview: string | null;
  updatedAt: number;
}

export interface TraceEntry {
  at: number;
  event: string;
  details: Record<string, unknown> | null;
}

/** The message that a flow began with. */
export interface FlowOrigin {
  messageId: string;
  correlationId: string;
}

/** `fired` has no outcome yet; `unknown` never got one. */
export type FireStatus = 'fired' | 'done' | 'failed' | 'skipped' | 'missed' | 'unknown';

/** One fire of a schedule, as its history shows it. */
export interface FireRow {
  fireId: string;
  scheduleId: string;
  scheduledAt: number;
  firedAt: number;
  manual: boolean;
  missed: boolean;
  status: FireStatus;
  endedAt: number | null;
  /** Why it failed. */
  detail: string | null;
}

export type CeremonyRunStatus = 'running' | 'success' | 'failure' | 'timeout';

/** One performance of a ceremony. */
export interface CeremonyRun {
  runId: string;
  ceremonyId: string;
  /** `schedule`, or who asked for it. */
  trigger: string;
  /** The time it was due; null when somebody asked for it. */
  scheduledAt: number | null;
  startedAt: number;
  endedAt: number | null;
  status: CeremonyRunStatus;
  detail: string | null;
}

/** A ceremony as lists show it. */
export interface CeremonyView extends Ceremony {
  /** When it comes next; null while it is not enabled. */
  nextRun: string | null;
  lastRun: CeremonyRun | null;
}

/** A schedule as lists show it: its record with the defaults filled in, and its times. */
export interface ScheduleView extends Omit<CronRecord, 'type' | 'timezone' | 'lastFired'> {
  type: 'cron' | 'once';
  timezone: string;
  state: 'active' | 'paused';
  lastFired: string | null;
  /** When it comes next; null while it is paused. */
  nextFire: string | null;
  /** The next times, were it not paused. */
  next: string[];
}

export interface PluginStatus {
  name: string;
  kind?: 'surface';
  state: 'off' | 'waiting' | 'running' | 'failed';
  /** Why it is off or failed. */
  words?: string;
}

export interface Load {
  running: number;
  waiting: number;
  circuit: CircuitState;
}

/** What is known of an external agent's life. */
export interface Sighting {
  reachable: boolean;
  /** When it was asked last, in milliseconds since 1970. */
  at: number;
  error?: string;
}

export interface Question {
  requestId: string;
  correlationId: string;
  question: string;
  askedAt: number;
  answer: string | null;
  answeredAt: number | null;
  /** It asks for approval, which only some may give. */
  approval: boolean;
}

export type DeliveryState = 'queued' | 'sent' | 'failed';

/** What became of one message to the outside. */
export interface Delivery {
  /** The id of its message. */
  id: string;
  surface: string;
  topic: string;
  correlationId: string;
  state: DeliveryState;
  attempts: number;
  /** Why the last attempt failed; null when none did. */
  error: string | null;
  /** What the product calls the parts that arrived, in order. */
  references: string[];
  createdAt: number;
  updatedAt: number;
}

/** One change of a workspace file, with the text before and after; null stands for no file. */
export interface Change {
  id: number;
  at: number;
  by: string;
  reason: string | null;
  messageId: string;
  /** The command that asked for it, or `registrar` for a part of the service. */
  topic: string;
  kind: string;
  name: string;
  file: string;
  before: string | null;
  after: string | null;
  /** The change that this one takes back. */
  undoes: number | null;
}

/** A change as `/api/changes` shows it, without credentials. */
export interface ChangeView extends Change {
  diff: string;
}

/** A flow as `/api/flows/:id` shows it. */
export interface FlowDetails extends Flow, FlowOrigin {
  trace: TraceEntry[];
}

/** An executor as `/api/agents` shows it. */
export interface AgentView {
  name: string;
  type: 'in-process' | 'a2a' | 'mcp';
  skills: readonly OfferedSkill[];
  load: Load;
  /** For agents of other services; null before the first attempt to reach one. */
  sighting?: Sighting | null;
}

/** An MCP server as `/api/mcp-servers` shows it: of variables and headers only the names. */
export interface McpServerView {
  name: string;
  trust: 'builtin' | 'trusted' | 'community';
  transport: 'stdio' | 'sse' | 'http';
  enabled: boolean;
  error: string | null;
  /** What its program wrote before it died; for the operator alone. */
  stderr?: string | undefined;
  command?: string;
  args?: string[];
  env?: string[];
  url?: string;
  headers?: string[];
  grants?: string[] | undefined;
}
