import type { LampState } from '@trunkline/ui';
import type { TurnState, Usage } from '../../chat/wire.ts';

export interface TaskSummary {
  id: string;
  context_id: string;
  state: TurnState;
  asked: string;
  text: string;
  question: { text: string; schema?: unknown } | null;
  /** "chat", "schedule", "inbox", "a2a". */
  origin: string;
  created_at: string;
  updated_at: string;
  usage: Usage | null;
  duration_ms: number | null;
}

export interface TaskEvent {
  sequence: number;
  type: 'status' | 'artifact' | 'message';
  state?: TurnState;
  at?: number;
  message?: { parts: { type: string; text?: string }[] };
  artifact?: { artifactId: string; name?: string; parts: { type: string; text?: string; data?: unknown }[] };
}

export interface Delivery {
  configId: string;
  at: number;
  state: TurnState;
  attempt: number;
  outcome: 'delivered' | 'refused' | 'failed';
  status?: number;
  reason?: string;
}

export const STATES: Record<TurnState, { lamp: LampState; word: string }> = {
  working: { lamp: 'live', word: 'Working' },
  'input-required': { lamp: 'waiting', word: 'Asks you' },
  'auth-required': { lamp: 'waiting', word: 'Asks for access' },
  completed: { lamp: 'idle', word: 'Done' },
  failed: { lamp: 'failed', word: 'Failed' },
  canceled: { lamp: 'idle', word: 'Stopped' },
  rejected: { lamp: 'failed', word: 'Refused' },
};
