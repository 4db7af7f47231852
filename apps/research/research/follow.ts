import type { SseEvent, SseSource } from '@trunkline/http';
import type { JobStore } from '../store/jobs.ts';

/** The events of a job behind the one the client saw last, as they come, until the job is closed. */
export async function* followEvents(
  jobs: JobStore,
  id: string,
  { lastEventId, signal }: SseSource,
): AsyncGenerator<SseEvent> {
  let after = seenBefore(lastEventId);
  let news = Promise.withResolvers<void>();
  const unwatch = jobs.watch(id, () => news.resolve());
  signal.addEventListener('abort', () => news.resolve(), { once: true });
  try {
    while (!signal.aborted) {
      news = Promise.withResolvers<void>();
      const events = jobs.events(id, after);
      for (const { sequence, event } of events) {
        yield { id: String(sequence), data: JSON.stringify(event) };
        after = sequence;
        if (event.type === 'done') return;
      }
      if (events.length > 0) continue;
      if (jobs.get(id)?.closed !== false) return;
      await news.promise;
    }
  } finally {
    unwatch();
  }
}

function seenBefore(lastEventId: string | undefined): number {
  return lastEventId !== undefined && /^\d{1,15}$/.test(lastEventId) ? Number(lastEventId) : 0;
}
