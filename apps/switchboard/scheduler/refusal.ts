const words = {
  schedule_unknown: (id: string) => `There is no schedule ${JSON.stringify(id)}.`,
  schedule_exists: (id: string) => `The schedule ${id} is there already; remove it first, or replace it.`,
  schedule_foreign: (id: string) =>
    `The schedule ${id} belongs to another key; its owner or the operator can change it.`,
  not_leading: (id: string) => `${id} was not run: another switchboard took the lead just now; try again.`,
  action_unknown: (action: string) =>
    `There is no action ${JSON.stringify(action)}: use add, remove, list, pause, resume, run-now or preview.`,
} as const;

export type RefusalCode = keyof typeof words;

/** A command for schedules that cannot be carried out. */
export class ScheduleRefusal extends Error {
  readonly code: RefusalCode;

  constructor(code: RefusalCode, about: string) {
    super(words[code](about));
    this.name = 'ScheduleRefusal';
    this.code = code;
  }
}
