import { sourceLines } from '@trunkline/a2a';
import { joinOrigins, type Origin } from '@trunkline/identity';
import type { TurnEvent } from '@trunkline/loop';
import type { SkillContext, SkillFrame, SkillResult } from '../dispatch/executor.ts';

type Citation = Extract<TurnEvent, { type: 'citation' }>['citation'];

/** Failures that do not count against the model's circuit breaker. */
const ownFaults: ReadonlySet<string> = new Set([
  'aborted',
  'bad-request',
  'context-too-long',
  'bad-checkpoint',
  'content-filter',
  'steps-lost',
]);

/** Characters of thoughts that go out as one frame, in place of one a token. */
const thoughtLength = 200;

/** Reports progress with what the turn has read so far; returns the result when the turn has ended. */
export function createProgress({ tell }: SkillContext, begun: readonly Origin[]) {
  let read = begun;
  let thought = '';
  const cited: Citation[] = [];
  const report = (frame: SkillFrame) => tell(read.length === 0 ? frame : { ...frame, origins: read });
  const reportThought = () => {
    if (thought !== '') report({ type: 'reasoning', text: thought });
    thought = '';
  };
  return (event: TurnEvent): SkillResult | undefined => {
    if (event.type !== 'reasoning-delta') reportThought();
    switch (event.type) {
      case 'text-delta':
        report({ type: 'progress', text: event.text });
        return undefined;
      case 'reasoning-delta':
        thought += event.text;
        if (thought.length >= thoughtLength) reportThought();
        return undefined;
      case 'wait':
        report({ type: 'note', text: event.message });
        return undefined;
      case 'tool-start':
        report({ type: 'tool-start', toolCallId: event.toolCallId, name: event.name, input: event.input });
        return undefined;
      case 'tool-end': {
        const { toolCallId, name, result, failed, origins } = event;
        read = joinOrigins(read, origins);
        if (!event.replayed) report({ type: 'tool-end', toolCallId, name, result, failed });
        return undefined;
      }
      case 'citation':
        cited.push(event.citation);
        return undefined;
      case 'end': {
        // Surfaces show text alone.
        const sources = cited.length === 0 ? '' : `\n\n${sourceLines(cited)}`;
        if (sources !== '') report({ type: 'progress', text: sources });
        return {
          content: event.text + sources,
          taskState: 'completed',
          usage: usageOf(event),
          ...readBy(event),
        };
      }
      case 'error': {
        const { text: content, message: error, code } = event;
        const unavailable = !ownFaults.has(code);
        return {
          content,
          error,
          taskState: 'failed',
          usage: usageOf(event),
          unavailable,
          ...readBy(event),
        };
      }
      default:
        return undefined;
    }
  };
}

function readBy({ origins }: Extract<TurnEvent, { type: 'end' | 'error' }>) {
  return origins && { origins };
}

function usageOf({ usage }: Extract<TurnEvent, { type: 'end' | 'error' }>) {
  const { knownCostUsd: _budget, ...reported } = usage;
  return reported;
}
