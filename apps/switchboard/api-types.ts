// Bodies of answers: the server builds them, the console imports the types.

import type { BusCluster } from '@trunkline/bus';
import type { ApprovalView, CircuitState } from '@trunkline/std';
import type { FlowApproval, OfferedSkill } from './dispatch/executor.ts';
import type { Ceremony } from './workspace/schema/agent.ts';
import type { CronRecord } from './workspace/schema/cron.ts';

export type { BusCluster, DeadLetter, Message as BusMessage } from '@trunkline/bus';
export type { SkillUsage } from './dispatch/executor.ts';
export type { Route } from './workspace/schema/agent.ts';
export type { Incident } from './workspace/schema/channels.ts';

export interface Answer<Data> {
  data: Data;
  /** Of a list: another switchboard did not answer, and what only it knows is missing. */
  incomplete?: true;
}

/** A switchboard among those that share a bus. */
export interface ClusterNode {
  node: string;
  version: string;
  /** Runs the schedules for all. */
  isLeader: boolean;
  /** In milliseconds since 1970. */
  startedAt: number;
  /** Messages in its memory that wait for a handler; this and the rest are missing of one that did not answer. */
  queued?: number;
  /** Messages of the journal that it has yet to take over: files, runs and turns of others. */
  behind?: number;
  /** The NATS server that it uses, and its version. */
  server?: string;
  serverVersion?: string;
}

/** `GET /api/cluster`. */
export interface Cluster {
  /** This switchboard. */
  node: string;
  isLeader: boolean;
  bus: 'embedded' | 'nats';
  connected: boolean;
  /** Why messages cannot be stored now. */
  problem?: string;
  nodes: ClusterNode[];
  /** Missing with the embedded bus, and while NATS does not answer. */
  nats?: BusCluster;
}

export type FlowStatus = 'active' | 'blocked' | 'complete';

type FlowStage = 'dispatched' | 'running' | 'error' | 'done';

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
  /** The beginning of the request's text. */
  requestPreview: string | null;
  executorType: string | null;
  targetAgent: string | null;
  errorPreview: string | null;
  /** Null where nothing was asked, or the last approval was given. */
  approval: FlowApproval | null;
  updatedAt: number;
}

export interface TraceEntry {
  at: number;
  event: string;
  details: Record<string, unknown> | null;
}

export interface FlowOrigin {
  messageId: string;
  correlationId: string;
}

/** `fired` has no outcome yet; `unknown` never got one. */
export type FireStatus = 'fired' | 'done' | 'failed' | 'skipped' | 'missed' | 'unknown';

export interface FireRow {
  fireId: string;
  scheduleId: string;
  scheduledAt: number;
  firedAt: number;
  manual: boolean;
  missed: boolean;
  status: FireStatus;
  endedAt: number | null;
  detail: string | null;
}

export type CeremonyRunStatus = 'running' | 'success' | 'failure' | 'timeout';

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

export interface CeremonyView extends Ceremony {
  /** Null while it is not enabled. */
  nextRun: string | null;
  lastRun: CeremonyRun | null;
}

/** Its record with the defaults filled in, and its times. */
export interface ScheduleView extends Omit<CronRecord, 'type' | 'timezone' | 'lastFired'> {
  type: 'cron' | 'once';
  timezone: string;
  state: 'active' | 'paused';
  lastFired: string | null;
  /** Null while it is paused. */
  nextFire: string | null;
  /** Also given while it is paused. */
  next: string[];
}

export interface PluginStatus {
  name: string;
  /** What people call it, where that differs. */
  title?: string;
  /** What it is for. */
  description?: string;
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

export interface Sighting {
  reachable: boolean;
  /** When its card was last requested, in milliseconds since 1970. */
  at: number;
  error?: string;
  /** Whether its card is signed, and by a key that its entry names; missing for services of this installation. */
  card?: 'none' | 'signed' | 'verified';
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
  /** What is to be approved, for a page to lay out; the question says the same in one text. */
  subject?: ApprovalView;
  /** Whoever reads the list may approve it. */
  mayApprove?: boolean;
  /** Whose request it is about. */
  owner: string;
}

export type DeliveryState = 'queued' | 'sent' | 'failed';

export interface Delivery {
  id: string;
  surface: string;
  topic: string;
  correlationId: string;
  state: DeliveryState;
  attempts: number;
  error: string | null;
  /** The product's ids of the parts that arrived, in order. */
  references: string[];
  createdAt: number;
  updatedAt: number;
}

/** A change of a workspace file; null stands for no file. */
export interface Change {
  id: number;
  at: number;
  by: string;
  reason: string | null;
  messageId: string;
  /** The command topic, or `registrar` for a change by the switchboard itself. */
  topic: string;
  kind: string;
  name: string;
  file: string;
  before: string | null;
  after: string | null;
  /** The id of the change that this one undoes. */
  undoes: number | null;
}

/** Without credentials. */
export interface ChangeView extends Change {
  /** False for a file that no command writes, such as `keys.yaml`. */
  canUndo: boolean;
  diff: string;
}

export interface FlowDetails extends Flow, FlowOrigin {
  trace: TraceEntry[];
}

export interface AgentView {
  name: string;
  type: 'in-process' | 'a2a' | 'mcp';
  skills: readonly OfferedSkill[];
  load: Load;
  /** It takes what no rule sends elsewhere. */
  default?: true;
  /** For agents of other services; null before the first attempt to reach one. */
  sighting?: Sighting | null;
}

/** Of variables and headers it holds only the names. */
export interface McpServerView {
  name: string;
  trust: 'builtin' | 'trusted' | 'community';
  transport: 'stdio' | 'sse' | 'http';
  enabled: boolean;
  error: string | null;
  /** Only the operator sees it. */
  stderr?: string | undefined;
  command?: string;
  args?: string[];
  env?: string[];
  url?: string;
  headers?: string[];
  grants?: string[] | undefined;
}
