// The form of a question, as the agent's tool request_user_input asks for it.
import type { JsonSchema, UiSchema } from '@trunkline/ui';

interface FormStep {
  title: string | undefined;
  description: string | undefined;
  schema: JsonSchema;
  ui: UiSchema;
}

export interface QuestionForm {
  title: string;
  description: string;
  steps: FormStep[];
}

/** The form that a question holds; none when it is a plain one or cannot be read. */
export function formOf(given: unknown): QuestionForm | undefined {
  const { title, description, steps } = recordOf(given);
  if (!Array.isArray(steps) || steps.length === 0) return undefined;
  return {
    title: nonEmpty(title) ?? 'A few details',
    description: nonEmpty(description) ?? '',
    steps: steps.map(stepOf),
  };
}

/** The answers of all steps in one text, as the tool expects it. */
export function answerText(steps: readonly Readonly<Record<string, unknown>>[]): string {
  return JSON.stringify(Object.assign({}, ...steps));
}

/** A question that a yes or a no answers, as those for leave do. */
export function isYesOrNo(text: string): boolean {
  return /\byes\b.{0,20}\bno\b|\bapprove\b|\ballow\b|^(may|shall|should) I\b/i.test(text);
}

/** What a person answered, in lines to read, when it was a form. */
export function readableAnswer(text: string): string {
  try {
    const values: unknown = JSON.parse(text);
    const lines = Object.entries(recordOf(values)).map(([name, value]) => `${name}: ${plain(value)}`);
    return lines.length > 0 ? lines.join('\n') : text;
  } catch {
    return text;
  }
}

function plain(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function stepOf(given: unknown): FormStep {
  const { schema, uiSchema, title, description } = recordOf(given);
  return {
    title: nonEmpty(title),
    description: nonEmpty(description),
    schema: recordOf(schema),
    ui: recordOf(uiSchema),
  };
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

function nonEmpty(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
