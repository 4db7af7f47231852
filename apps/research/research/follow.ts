import type { SseEvent, SseSource } from '@trunkline/http';
import type { LoggedEvent } from '@trunkline/storage';
import type { JobStore } from '../store/jobs.ts';
import type { ResearchEvent } from './job.ts';

/** The events of a job behind the one the client saw last, as frames of a stream. */
export async function* followEvents(
  jobs: JobStore,
  id: string,
  { lastEventId, signal }: SseSource,
): AsyncGenerator<SseEvent> {
  for await (const { sequence, event } of followJob(jobs, id, seenBefore(lastEventId), signal))
    yield { id: String(sequence), data: JSON.stringify(event) };
}

/** The events of a job as they come, until it is closed; a job that was taken up again goes on behind its earlier end. */
export async function* followJob(
  jobs: JobStore,
  id: string,
  seen: number,
  signal: AbortSignal,
): AsyncGenerator<LoggedEvent<ResearchEvent>> {
  let after = seen;
  let news = Promise.withResolvers<void>();
  const wake = () => news.resolve();
  const unwatch = jobs.watch(id, wake);
  signal.addEventListener('abort', wake, { once: true });
  try {
    while (!signal.aborted) {
      news = Promise.withResolvers<void>();
      const events = jobs.events(id, after);
      for (const event of events) {
        yield event;
        after = event.sequence;
      }
      if (events.length > 0) continue;
      if (jobs.get(id)?.closed !== false) return;
      await news.promise;
    }
  } finally {
    signal.removeEventListener('abort', wake);
    unwatch();
  }
}

function seenBefore(lastEventId: string | undefined): number {
  return lastEventId !== undefined && /^\d{1,15}$/.test(lastEventId) ? Number(lastEventId) : 0;
}
