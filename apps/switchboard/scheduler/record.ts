import { checkTopic, matchesTopic } from '@trunkline/bus';
import { parseSchedule, ScheduleError } from '@trunkline/schedule';
import { z } from 'zod';

/** Room for `@`, the time and `#now` in the id of a message. */
const longestId = 96;
const idForm = /^[a-z0-9][a-z0-9-]{0,63}(\.[a-z0-9][a-z0-9-]{0,63})*$/;

/** Names a file and stands in topics and fire ids, so that nothing else may be in it. */
export const scheduleId = z
  .string()
  .max(longestId)
  .regex(
    idForm,
    `expected small letters, digits and -, with dots between parts, at most ${longestId} characters`,
  );

const payloadSchema = z.looseObject({
  content: z.string().min(1),
  sender: z.string().min(1).default('cron'),
  /** `cli`, `messenger`, `a2a`, or the id of a chat channel. */
  channel: z.string().min(1).default('cli'),
  skillHint: z.string().min(1).optional(),
  /** For `a2a`: a target of `a2a.yaml`, and the name of the job there. */
  agent_name: z.string().min(1).optional(),
  scheduler_job_id: z.string().min(1).optional(),
});

/** `crons/<id>.yaml`: what is published when. */
export const recordSchema = z
  .strictObject({
    id: scheduleId,
    type: z.enum(['cron', 'once']).optional(),
    schedule: z.string().min(1),
    timezone: z.string().min(1).optional(),
    topic: z.string().superRefine(checkWith(checkTopic)),
    payload: payloadSchema,
    enabled: z.boolean().default(true),
    /** What happens when it is due while an earlier run still goes on. */
    overlap: z.enum(['skip', 'queue', 'allow']).default('skip'),
    /** Spreads fires over that many milliseconds after their time. */
    jitterMs: z.int().min(0).max(86_400_000).optional(),
    lastFired: z.iso.datetime({ offset: true }).optional(),
  })
  .superRefine(checkTimes)
  .superRefine(checkRemote);

export type ScheduleRecord = z.output<typeof recordSchema>;

/** True when the scheduler itself delivers the message, to another agent. */
export function isRemote({ payload }: Pick<ScheduleRecord, 'payload'>): boolean {
  return payload.channel === 'a2a';
}

function checkTimes({ schedule, type, timezone }: Times, context: z.RefinementCtx): void {
  const problem = problemOf(() => parseSchedule(schedule, timezone === undefined ? {} : { timezone }));
  if (problem instanceof Error) {
    const path = [
      problem instanceof ScheduleError && problem.code === 'timezone_unknown' ? 'timezone' : 'schedule',
    ];
    context.addIssue({ code: 'custom', path, message: problem.message });
    return;
  }
  if (type === undefined || type === problem.type) return;
  const message = `the type says ${type}, but the schedule ${JSON.stringify(schedule)} is of type ${problem.type}; leave the type out`;
  context.addIssue({ code: 'custom', path: ['type'], message });
}

type Times = { schedule: string; type?: string | undefined; timezone?: string | undefined };

/** Deliveries go on after a restart because their messages are journalled, which those under `cron.` are. */
function checkRemote(
  { topic, payload }: { topic: string; payload: z.output<typeof payloadSchema> },
  context: z.RefinementCtx,
): void {
  if (payload.channel !== 'a2a') return;
  const missing = (['agent_name', 'scheduler_job_id'] as const).filter((name) => payload[name] === undefined);
  for (const name of missing) {
    const message = `the channel a2a needs ${name}`;
    context.addIssue({ code: 'custom', path: ['payload', name], message });
  }
  if (matchesTopic('cron.#', topic)) return;
  const message = 'for the channel a2a the topic must begin with cron., such as cron.<agent_name>.<job>';
  context.addIssue({ code: 'custom', path: ['topic'], message });
}

function checkWith(check: (text: unknown) => void) {
  return (text: string, context: z.RefinementCtx) => {
    const problem = problemOf(() => check(text));
    if (problem instanceof Error) context.addIssue({ code: 'custom', message: problem.message });
  };
}

function problemOf<T>(work: () => T): T | Error {
  try {
    return work();
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
