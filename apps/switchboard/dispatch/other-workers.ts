import { setTimeout as delay } from 'node:timers/promises';
import type { Peers } from '../cluster/peers.ts';
import { principalOf } from '../core/messages.ts';
import type { FlowStore } from '../flows/flow-store.ts';
import type { Dispatch } from './request.ts';

interface OtherWorkersSettings {
  peers: Pick<Peers, 'offer' | 'askAll'>;
  flows: Pick<FlowStore, 'ofMessage'>;
  /** Silence after which another switchboard no longer counts as at work. */
  takeoverMs: number;
}

/** How a request ended elsewhere. */
interface EndElsewhere {
  error?: string;
}

/** What a switchboard knows of a request: it is at work on it, or has ended it. */
type Knowledge = 'running' | EndElsewhere;

/** A switchboard that works on the same request is asked about this often whether it still does. */
const askEveryMs = 1000;

/**
 * A switchboard that stood still, or was cut off, finds its requests at another: the bus takes it for dead after
 * `takeoverMs`. Here the two agree on who goes on.
 */
export function createOtherWorkers({ peers, flows, takeoverMs }: OtherWorkersSettings) {
  /** Ids of messages that an executor of this process works on. */
  const running = new Set<string>();

  peers.offer('work', ({ messageId, correlationId }): Knowledge | undefined => {
    if (running.has(String(messageId))) return 'running';
    const flow = flows.ofMessage(String(messageId), String(correlationId));
    if (flow?.status !== 'complete') return undefined;
    return flow.errorPreview === null ? {} : { error: flow.errorPreview };
  });

  /** `unknown` where not all could be asked, or not all answered; undefined where nobody is at work. */
  async function ask({ message, correlationId }: Dispatch): Promise<Knowledge | 'unknown' | undefined> {
    const query = { messageId: message.id, correlationId };
    const { answers, isComplete } = await peers.askAll<Knowledge>('work', query, principalOf(message));
    const known = answers.find((each) => each !== 'running') ?? answers[0];
    return known ?? (isComplete ? undefined : 'unknown');
  }

  /** How another switchboard ends a request; undefined when all have been silent for so long that this one goes on. */
  async function waitForEnd(dispatch: Dispatch, signal: AbortSignal): Promise<EndElsewhere | undefined> {
    const pauseMs = Math.min(askEveryMs, takeoverMs / 3);
    for (let heardAt = performance.now(); ; ) {
      const known = await ask(dispatch);
      if (typeof known === 'object') return known;
      if (known === 'running') heardAt = performance.now();
      else if (performance.now() - heardAt >= takeoverMs) return undefined;
      // Not in step with each other: two that both wait would see each other begin.
      await delay(pauseMs * (0.5 + Math.random()), undefined, { signal });
    }
  }

  return { running, ask, waitForEnd };
}

export type OtherWorkers = ReturnType<typeof createOtherWorkers>;
