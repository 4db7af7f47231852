import type { Issue } from '../../../stores/beads-store.ts';

export type { Issue };
export type IssueState = Issue['status'];

export const COLUMNS: readonly { state: IssueState; title: string }[] = [
  { state: 'open', title: 'Open' },
  { state: 'in_progress', title: 'In progress' },
  { state: 'blocked', title: 'Blocked' },
  { state: 'deferred', title: 'Deferred' },
  { state: 'closed', title: 'Closed' },
];

export const PRIORITIES = ['Most urgent', 'Urgent', 'Normal', 'Low', 'Lowest'];

export const FORM = {
  type: 'object',
  required: ['title', 'priority', 'issue_type'],
  properties: {
    title: { type: 'string', title: 'Title' },
    description: { type: 'string', title: 'Description', maxLength: 20_000 },
    priority: {
      title: 'Priority',
      default: 2,
      oneOf: PRIORITIES.map((title, priority) => ({ const: priority, title })),
    },
    issue_type: { title: 'Kind', default: 'task', enum: ['task', 'bug', 'feature', 'chore', 'epic'] },
  },
};

/** An issue that is there can be moved by the form too, where nothing can be dragged. */
export const EDIT_FORM = {
  ...FORM,
  properties: {
    ...FORM.properties,
    status: { title: 'State', oneOf: COLUMNS.map(({ state, title }) => ({ const: state, title })) },
  },
};

/** The state beside another one on the board; none at the edges. */
export function neighbour(state: IssueState, step: 1 | -1): IssueState | undefined {
  return COLUMNS[COLUMNS.findIndex((column) => column.state === state) + step]?.state;
}
