import { A2aError } from '@trunkline/a2a';
import { ConfigError } from '@trunkline/config';
import { defineErrors, HttpError } from '@trunkline/http';
import { ScheduleError } from '@trunkline/schedule';
import { StoreError } from '../../stores/store-error.ts';

const statuses: Record<StoreError['code'], number> = {
  conflict: 409,
  full: 507,
  invalid: 400,
  not_found: 404,
  not_shared: 403,
};

/** Failures of the console API. */
export const consoleErrors = defineErrors({
  chat_of_others: [
    403,
    'This conversation belongs to somebody else. Choose another session_id, or sign in as the operator ("npx trunkline login").',
  ],
  too_many_branches: [
    409,
    'This conversation has as many branches as are kept. Begin a new chat, or go on in one of its branches.',
  ],
  turn_not_kept: [
    409,
    'What the model saw before this turn is no longer kept, or the turn has not begun yet. Edit a later message, or begin a new chat.',
  ],
  model_not_offered: [
    404,
    (fields: { model: string }) =>
      `The model ${fields.model} is not offered to you. Choose one of GET /api/chat/models; the operator lists more in model.choices of agent.yaml.`,
  ],
  turn_of_schedule: [
    409,
    'A schedule ran this turn, so there is no message to say again. Run it once more on the page "Schedules".',
  ],
  figures_of_all: [
    403,
    'What the models cost all callers together is for the operator. Sign in as the operator ("npx trunkline login") to see it; what a task of yours cost stands with the task.',
  ],
  not_loaded: [
    409,
    ({ what }: { what: string }) => `${what} is not loaded. Turn it on in the configuration.`,
  ],
  approver_required: [
    403,
    ({ keyFile }: { keyFile: string }) =>
      `Only the operator in person, or a chat identity listed in approvals.approvers, may approve. In a browser, open the link that "npx trunkline login" prints; in a terminal, run "npx trunkline approvals", which reads the key of ${keyFile}.`,
  ],
  approval_gone: [
    404,
    ({ id }: { id: string }) =>
      `Nothing waits for the approval ${id}: it was answered, its task was stopped, or what it runs has changed. Load the list again.`,
  ],
  file_refused: [422, ({ why }: { why: string }) => why],
  not_found: [404, ({ what }: { what: string }) => `There is no ${what}.`],
  model_key_needed: [
    400,
    ({ place }: { place: string }) =>
      `The key that is kept goes only to the endpoint it was kept for. Give the key of ${place} with it: on the page under Settings, Model, or as api_key; where it needs none, any word will do.`,
  ],
  secret_named: [
    400,
    ({ name }: { name: string }) =>
      `${name} holds a secret of this service, and no entry that names it can be added or changed from here. Do it in agent.yaml on the machine itself.`,
  ],
  config_changed: [
    409,
    'The configuration was changed meanwhile, here or by somebody else. Copy what you wrote, start over from what is saved, and put it in again.',
  ],
  config_invalid: [400, ({ words }: { words: string }) => words],
});

/** The part itself, or the refusal that says it is not there. */
export function loaded<Part>(part: Part | undefined, what: string): Part {
  if (part === undefined) throw consoleErrors.not_loaded({ what });
  return part;
}

/** The answer to a refusal of a store, the scheduler, the task engine or the configuration; any other error stays. */
export function asHttpError(error: unknown): unknown {
  if (error instanceof A2aError)
    return new HttpError(error.reason.toLowerCase(), error.binding.status, error.message, { cause: error });
  if (error instanceof ScheduleError) return new HttpError(error.code, 400, error.message, { cause: error });
  if (error instanceof StoreError)
    return new HttpError(error.code, statuses[error.code], error.message, { cause: error });
  if (error instanceof ConfigError)
    return consoleErrors.config_invalid({ words: error.message }, { cause: error });
  return error;
}
