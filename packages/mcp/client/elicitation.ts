import type { ElicitResult } from '@modelcontextprotocol/sdk/types.js';
import { type AnsweredInput, InputRequired, inputFromSchema } from '@trunkline/llm';
import { z } from 'zod';
import type { McpQuestion } from './types.ts';

interface Field {
  type?: string;
  title?: string;
  description?: string;
}

const MAX_MESSAGE = 2000;
const MAX_FIELD = 200;

/** Pauses the turn with the server's question. It says who asks: the words are the server's, not ours. */
export function inputRequired(server: string, { message, schema }: McpQuestion, note = ''): InputRequired {
  const fields = fieldsOf(schema);
  const names = Object.entries(fields).map(([name, { title, description }]) =>
    `- ${name}: ${title ?? ''} ${description ?? ''}`.trim().slice(0, MAX_FIELD),
  );
  const question = [
    note,
    `The MCP server ${server} asks: ${message.slice(0, MAX_MESSAGE)}`,
    ...(names.length === 0 ? [] : ['It wants to know:', ...names]),
    `What you answer goes to ${server}. Answer "decline" to refuse.`,
  ];
  const form = {
    title: `The MCP server ${server} asks`,
    description: `${message.slice(0, MAX_MESSAGE)}\nWhat you answer goes to ${server}.`,
    steps: [{ schema }],
    declines: true,
  };
  return new InputRequired(question.filter((line) => line !== '').join('\n'), form);
}

/** What a person answered, as the server expects it. Asks again where it does not fit. */
export function readAnswer(server: string, { text, schema: form }: AnsweredInput): ElicitResult {
  const said = text.trim();
  const [refusal] = /^(decline|cancel)(?=[\s.!]*$)/i.exec(said) ?? [];
  if (refusal !== undefined) return { action: refusal.toLowerCase() === 'cancel' ? 'cancel' : 'decline' };
  const { schema, message } = questionOf(form);
  // A question without fields is a plain yes or no.
  const isPlain = Object.keys(fieldsOf(schema)).length === 0;
  if (isPlain && yesOrNo(said) === false) return { action: 'decline' };
  const content = valuesOf(said, schema);
  const parsed = checkerOf(schema).safeParse(content);
  if (!parsed.success)
    throw inputRequired(
      server,
      { message, schema },
      `That does not fit: ${isPlain ? 'answer yes or no' : z.prettifyError(parsed.error)}`,
    );
  return { action: 'accept', content: parsed.data as NonNullable<ElicitResult['content']> };
}

/** A form is answered with JSON; a question with one field also with plain words. */
function valuesOf(text: string, schema: object): unknown {
  try {
    const values: unknown = JSON.parse(text);
    if (typeof values === 'object' && values !== null) return values;
  } catch {
    // Plain words.
  }
  const [only, ...others] = Object.entries(fieldsOf(schema));
  if (only === undefined) return yesOrNo(text) ? {} : undefined;
  if (others.length > 0) return undefined;
  const [name, { type }] = only;
  if (type === 'boolean') {
    const value = yesOrNo(text);
    return value === undefined ? undefined : { [name]: value };
  }
  return { [name]: type === 'number' || type === 'integer' ? Number(text) : text };
}

/** Undefined where it is neither. */
function yesOrNo(text: string): boolean | undefined {
  if (/^(n|no|nope|nein|false|stop|do not|don[’']?t)\b/i.test(text)) return false;
  return /^(y|yes|yes please|ja|true|ok|okay|sure|accept)[\s.!]*$/i.test(text) ? true : undefined;
}

function checkerOf(schema: object): z.ZodType {
  try {
    return inputFromSchema(schema);
  } catch {
    // The server checks the answer anyway.
    return z.record(z.string(), z.unknown());
  }
}

function questionOf(form: unknown): McpQuestion {
  const { description = '', steps = [] } = (form ?? {}) as {
    description?: string;
    steps?: { schema?: object }[];
  };
  return { message: description.split('\n').slice(0, -1).join('\n'), schema: steps[0]?.schema ?? {} };
}

function fieldsOf(schema: object): Record<string, Field> {
  const { properties = {} } = schema as { properties?: Record<string, Field> };
  return properties;
}
