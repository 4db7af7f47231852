import { createGuardedFetch, type GuardedResponse } from '@trunkline/http';
import type { Principal } from '@trunkline/identity';
import { z } from 'zod';

export interface DueJob {
  jobId: string;
  prompt: string;
  /** Who asked for it. */
  principal: Principal;
  /** The same for every attempt at one time, so that the agent can tell a repetition. */
  fireId: string;
  /** IANA zone in which it was planned. */
  timezone?: string | undefined;
  /** The conversation in which it was asked for. */
  sessionId?: string | undefined;
}

/** Runs a job as a turn; rejects when it could not be handed over. */
export type Invoke = (job: DueJob, signal: AbortSignal) => Promise<void>;

export interface InvokeOptions {
  agentName: string;
  /** Asked at each fire, as the port may be known only after the start. */
  url: () => string;
  /** What to show the service for a job. */
  headers?: (job: DueJob) => Readonly<Record<string, string>>;
  timeoutS: number;
  logger: { warn(fields: object, message: string): void };
}

const answer = z.union([
  z.object({ error: z.object({ message: z.string() }).loose() }),
  z.object({ result: z.unknown() }),
]);

/** Sends a due job to the agent as `message/send` and waits for the turn to end. */
export function createInvoke({
  agentName,
  url,
  headers = () => ({}),
  timeoutS,
  logger,
}: InvokeOptions): Invoke {
  return async (job, signal) => {
    const address = new URL('a2a', `${url().replace(/\/+$/, '')}/`);
    const fetch = createGuardedFetch({
      allowedHosts: [address.hostname],
      timeoutMs: timeoutS * 1000 + 60_000,
      maxRedirects: 0,
    });
    const limit = AbortSignal.timeout(timeoutS * 1000);
    try {
      const response = await fetch(address, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers(job) },
        body: JSON.stringify(envelope(job, agentName)),
        signal: AbortSignal.any([signal, limit]),
      });
      refuseFailure(response);
    } catch (error) {
      if (!limit.aborted || signal.aborted) throw error;
      // The turn goes on at the agent: firing again would run it twice.
      logger.warn({ job: job.jobId, timeoutS }, 'scheduled turn exceeds SCHEDULER_FIRE_TIMEOUT_S');
    }
  };
}

function envelope({ jobId, prompt, fireId, timezone, sessionId }: DueJob, agentName: string): object {
  const metadata = {
    scheduler_job_id: jobId,
    channel: 'a2a',
    agent_name: agentName,
    // Also the zone of jobs that were planned in none.
    ...(timezone !== 'UTC' && { timezone }),
    ...(sessionId !== undefined && { scheduled_in: sessionId }),
  };
  const message = {
    kind: 'message',
    role: 'user',
    messageId: fireId,
    parts: [{ kind: 'text', text: prompt }],
    metadata,
  };
  return { jsonrpc: '2.0', id: fireId, method: 'message/send', params: { message, metadata } };
}

function refuseFailure(response: GuardedResponse): void {
  if (response.status >= 300) throw new Error(`the agent answered with status ${response.status}`);
  const parsed = answer.safeParse(JSON.parse(response.text()));
  if (!parsed.success) throw new Error('the agent gave an answer that cannot be read');
  if ('error' in parsed.data) throw new Error(`the agent refused: ${parsed.data.error.message}`);
}
