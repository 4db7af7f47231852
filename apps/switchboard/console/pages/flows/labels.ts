import type { LampState } from '@trunkline/ui';
import type { Flow } from '../../../api-types.ts';

export function lampOf({ status, stage }: Flow): { lamp: LampState; word: string } {
  if (status === 'blocked') return { lamp: 'waiting', word: 'Asks' };
  if (stage === 'error') return { lamp: 'failed', word: 'Failed' };
  if (stage === 'done') return { lamp: 'idle', word: 'Done' };
  return stage === 'running' ? { lamp: 'live', word: 'Works' } : { lamp: 'waiting', word: 'Waits' };
}

/** Which skill it is of, and who does it. */
export function workOf({ skill, targetAgent }: Flow): string {
  return `${skill || 'no skill'}${targetAgent === null ? '' : ` by ${targetAgent}`}`;
}

/** What was asked; for a request without words, what it is about. */
export function titleOf(flow: Flow): string {
  return flow.requestPreview ?? workOf(flow);
}
