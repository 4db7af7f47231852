import { type Task, textOf } from '@trunkline/a2a';
import type { ServedQuestion } from '@trunkline/mcp';

/** The forms for a question of the agent, and how their answers are told to it. */
interface Forms {
  questions: ServedQuestion[];
  read(answers: readonly Record<string, unknown>[]): string;
}

interface Step {
  title?: string;
  schema?: { properties?: Record<string, { type?: string }>; required?: string[] };
}

const MAX_MESSAGE = 4000;
const simple = new Set(['string', 'number', 'integer', 'boolean']);

/** The protocol's forms have fields of simple types alone: what is more becomes a line of text. */
export function formsIn(task: Task): Forms {
  const text = task.statusMessage === undefined ? '' : textOf(task.statusMessage.parts);
  const message = text.slice(0, MAX_MESSAGE);
  const schema = schemaOf(task);
  if (schema.approval !== undefined) return approvalForm(message);
  const steps = schema.steps ?? [];
  if (steps.length === 0 || !steps.every(isSimple)) return lineForm(message);
  return {
    questions: steps.map(({ title, schema: fields = {} }) => ({
      message: [message, title].filter(Boolean).join('\n'),
      schema: { type: 'object', properties: fields.properties ?? {}, required: fields.required ?? [] },
    })),
    read: (answers) => JSON.stringify(Object.assign({}, ...answers)),
  };
}

/** Whether a task waits for an approval, which only a person can give. */
export function waitsForApproval(task: Task): boolean {
  return task.state === 'input-required' && schemaOf(task).approval !== undefined;
}

function approvalForm(message: string): Forms {
  const answer = { type: 'string', title: 'Your answer', enum: ['yes', 'yes for this task', 'no'] };
  return {
    questions: [{ message, schema: { type: 'object', properties: { answer }, required: ['answer'] } }],
    read: ([given]) => String(given?.answer ?? 'no'),
  };
}

function lineForm(message: string): Forms {
  const answer = { type: 'string', title: 'Your answer' };
  return {
    questions: [{ message, schema: { type: 'object', properties: { answer }, required: ['answer'] } }],
    read: ([given]) => String(given?.answer ?? ''),
  };
}

function isSimple({ schema }: Step): boolean {
  return Object.values(schema?.properties ?? {}).every(({ type = '' }) => simple.has(type));
}

function schemaOf({ statusMessage }: Task): { approval?: unknown; steps?: Step[] } {
  const data = statusMessage?.parts.find((part) => part.type === 'data')?.data as
    | { schema?: { approval?: unknown; steps?: Step[] } | null }
    | undefined;
  return data?.schema ?? {};
}
