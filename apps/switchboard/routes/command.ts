import type { Bus } from '@trunkline/bus';
import { defineErrors } from '@trunkline/http';
import type { Context } from 'hono';
import { busFailure } from '../errors.ts';
import type { SwitchboardEnv } from './guards.ts';

export const commandErrors = defineErrors({
  command_refused: [400, ({ words }: { words: string }) => words],
  change_unknown: [404, ({ words }: { words: string }) => words],
  change_overtaken: [409, ({ words }: { words: string }) => words],
});

const timeoutMs = 15_000;

interface Outcome {
  success: boolean;
  error?: string;
  code?: string;
  changeId?: number | null;
}

/** Sends a command over the bus and waits for its outcome; gives the number of the change. */
export async function sendCommand(
  context: Context<SwitchboardEnv>,
  bus: Bus,
  topic: string,
  payload: object,
): Promise<number | undefined> {
  const source = { interface: 'api', userId: context.get('caller').name };
  const answer = await bus.request(topic, payload, { timeoutMs, source }).catch((error: unknown) => {
    throw busFailure(error);
  });
  const { success, error = 'It was refused.', code, changeId } = answer.payload as Outcome;
  if (success) return changeId ?? undefined;
  if (code === 'change_unknown' || code === 'change_overtaken') throw commandErrors[code]({ words: error });
  throw commandErrors.command_refused({ words: error });
}
