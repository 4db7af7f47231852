import type { LampState } from '@trunkline/ui';
import type { SourceHealth } from '../../api-types.ts';

const LAMPS: Record<SourceHealth['state'], { state: LampState; word: string }> = {
  ok: { state: 'live', word: 'Answers' },
  failing: { state: 'failed', word: 'Fails' },
  unknown: { state: 'idle', word: 'Not asked yet' },
};

export function sourceLamp({ state }: SourceHealth): { state: LampState; word: string } {
  return LAMPS[state];
}
