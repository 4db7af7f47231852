export interface Schedule {
  id: string;
  type: 'cron' | 'once';
  schedule: string;
  timezone: string;
  topic: string;
  payload: { content: string; channel?: string; skillHint?: string; sender?: string; [key: string]: unknown };
  state: 'active' | 'paused';
  overlap: 'skip' | 'queue' | 'allow';
  jitterMs: number;
  lastFired: string | null;
  nextFire: string | null;
  next: string[];
}

export interface Fire {
  fireId: string;
  scheduledAt: number;
  firedAt: number;
  manual: boolean;
  missed: boolean;
  status: 'fired' | 'done' | 'failed' | 'skipped' | 'missed' | 'unknown';
  endedAt: number | null;
  detail: string | null;
}

export interface Ceremony {
  id: string;
  name: string;
  schedule: string;
  skill: string;
  targets: string[];
  enabled: boolean;
  nextRun: string | null;
  lastRun: CeremonyRun | null;
}

export interface CeremonyRun {
  runId: string;
  trigger: string;
  startedAt: number;
  endedAt: number | null;
  status: 'running' | 'success' | 'failure' | 'timeout';
  detail: string | null;
}
