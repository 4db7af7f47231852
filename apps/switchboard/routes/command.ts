import type { Bus } from '@trunkline/bus';
import { defineErrors } from '@trunkline/http';
import type { Context } from 'hono';
import type { JournalDraft } from '../control/command-draft.ts';
import { busFailure } from '../errors.ts';
import type { SwitchboardEnv } from './guards.ts';

export const commandErrors = defineErrors({
  command_refused: [400, ({ words }: { words: string }) => words],
  change_unknown: [404, ({ words }: { words: string }) => words],
  change_overtaken: [409, ({ words }: { words: string }) => words],
  entry_twice: [409, ({ words }: { words: string }) => words],
});

type CommandErrorCode = keyof typeof commandErrors;

const timeoutMs = 15_000;

interface Outcome {
  success: boolean;
  error?: string;
  code?: string;
  changeId?: number | null;
}

/** A bus on which commands are made fit for the journal. */
export type CommandBus = Pick<Bus, 'request'>;

export function createCommandBus(bus: Bus, journalDraft: JournalDraft): CommandBus {
  return {
    request: (topic, payload, options) =>
      bus.request(topic, journalDraft({ topic, payload }).payload, options),
  };
}

/** Sends a command over the bus and waits for its outcome; gives the number of the change. */
export async function sendCommand(
  context: Context<SwitchboardEnv>,
  bus: CommandBus,
  topic: string,
  payload: object,
): Promise<number | undefined> {
  const source = { interface: 'api', userId: context.get('caller').name };
  const principal = context.get('principal');
  const answer = await bus
    .request(topic, payload, { timeoutMs, source, principal })
    .catch((error: unknown) => {
      throw busFailure(error);
    });
  const { success, error = 'It was refused.', code, changeId } = answer.payload as Outcome;
  if (success) return changeId ?? undefined;
  const known = code !== undefined && code in commandErrors ? (code as CommandErrorCode) : 'command_refused';
  throw commandErrors[known]({ words: error });
}
