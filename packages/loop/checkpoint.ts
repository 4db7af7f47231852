import type { Origin } from '@trunkline/identity';
import type { DescriptionHash } from '@trunkline/policy';
import { type ModelMessage, modelMessageSchema } from 'ai';
import { z } from 'zod';
import type { StoredFile, UserPart } from './content/content.ts';

const version = 1;

const originSchema = z.object({ kind: z.string(), source: z.string() });

const descriptionSchema = z.object({
  kind: z.enum(['mcp-description', 'agent-card']),
  source: z.string(),
  sha256: z.string(),
});

const fileSchema = z.object({
  id: z.string(),
  name: z.string(),
  mediaType: z.string(),
  size: z.number(),
  isShown: z.literal(true).optional(),
});

const isUserPart = (part: unknown) => modelMessageSchema.safeParse({ role: 'user', content: [part] }).success;

const callSchema = z.object({
  toolCallId: z.string(),
  name: z.string(),
  input: z.json(),
  /** Missing while the answer is awaited. */
  result: z.string().optional(),
  origins: z.array(originSchema).optional(),
  files: z.array(fileSchema).optional(),
  attached: z.array(z.custom<UserPart>(isUserPart)).optional(),
  ask: z
    .object({
      rule: z.string(),
      why: z.string(),
      accepts: z.array(descriptionSchema).optional(),
      isTaskOnly: z.literal(true).optional(),
    })
    .optional(),
  question: z.object({ text: z.string(), schema: z.json().optional() }).optional(),
});

const usageSchema = z.object({
  inputTokens: z.number(),
  outputTokens: z.number(),
  totalTokens: z.number(),
  costUsd: z.number().optional(),
  knownCostUsd: z.number().optional(),
  estimated: z.literal(true).optional(),
});

const checkpointSchema = z.object({
  version: z.literal(version),
  messages: z.array(z.custom<ModelMessage>((value) => modelMessageSchema.safeParse(value).success)).min(1),
  calls: z.array(callSchema).min(1),
  usage: usageSchema,
  steps: z.int().nonnegative(),
  grants: z.array(z.string()).optional(),
});

/** A call of the step at which the turn paused, with its result once there is one. */
export interface CheckpointCall {
  toolCallId: string;
  name: string;
  input: unknown;
  result?: string;
  /** Where the result came from, when from outside the operator's trust. */
  origins?: readonly Origin[];
  /** What the tool made. */
  files?: readonly StoredFile[];
  /** What the person sent with the answer. */
  attached?: readonly UserPart[];
  /** Set where a person has to allow the call before it runs. */
  ask?: AskReason;
  /** Set where the running tool asks a person; with the answer the call is run again. */
  question?: ToolQuestion;
}

export interface ToolQuestion {
  text: string;
  schema?: unknown;
}

/** Why a person is asked about a call. */
export interface AskReason {
  /** The rule of the policy that asks. */
  rule: string;
  why: string;
  /** Descriptions that an "always" accepts. */
  accepts?: readonly DescriptionHash[] | undefined;
  /** An "always" counts for the task. */
  isTaskOnly?: true | undefined;
}

/** A paused turn as plain JSON. The calls without a result are the questions that wait. */
export interface Checkpoint {
  version: typeof version;
  /** The conversation up to the message that made the calls. */
  messages: ModelMessage[];
  calls: CheckpointCall[];
  usage: {
    inputTokens: number;
    outputTokens: number;
    totalTokens: number;
    costUsd?: number;
    knownCostUsd?: number;
    estimated?: true;
  };
  /** Calls of the model so far. */
  steps: number;
  /** Calls that a person has allowed for the rest of the turn. */
  grants?: readonly string[];
}

export class CheckpointError extends Error {
  readonly code = 'bad-checkpoint';
}

export function createCheckpoint(content: Omit<Checkpoint, 'version'>): Checkpoint {
  return toPlainJson({ version, ...content });
}

/** Reads a stored checkpoint; throws a CheckpointError when it is of another version or damaged. */
export function parseCheckpoint(stored: unknown): Checkpoint {
  const found = versionOf(stored);
  if (found !== version) {
    throw new CheckpointError(
      `The stored turn has checkpoint version ${JSON.stringify(found) ?? 'none'}, but this program reads version ${version}. Start the task again, or answer it with the program that paused it.`,
    );
  }
  const parsed = checkpointSchema.safeParse(stored);
  if (!parsed.success) {
    throw new CheckpointError(
      `The stored turn is damaged and cannot go on: ${z.prettifyError(parsed.error)}. Start the task again.`,
    );
  }
  return toPlainJson(parsed.data) as Checkpoint;
}

function versionOf(stored: unknown): unknown {
  return typeof stored === 'object' && stored !== null && 'version' in stored ? stored.version : undefined;
}

/** The first call that waits for an answer. */
export function openCall(calls: readonly CheckpointCall[]): CheckpointCall | undefined {
  return calls.find((call) => call.result === undefined);
}

/** What a waiting call asks: its question, else its title and description, else its arguments. */
export function questionOf({ name, input, question }: CheckpointCall): string {
  if (question !== undefined) return question.text;
  const fields: Record<string, unknown> = typeof input === 'object' && input !== null ? { ...input } : {};
  const words = [fields.question ?? fields.title, fields.description].filter(
    (field) => typeof field === 'string' && field !== '',
  );
  return words.length > 0 ? words.join('\n') : `${name} ${JSON.stringify(input)}`;
}

/**
 * The value as plain JSON data: bytes become base64 and addresses become text, as the AI SDK accepts them,
 * and what is undefined is left out. JSON.parse(JSON.stringify(x)) gives exactly the same.
 */
export function toPlainJson<Value>(value: Value): Value {
  return convert(value) as Value;
}

function convert(value: unknown): unknown {
  if (value instanceof Uint8Array)
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('base64');
  if (value instanceof ArrayBuffer) return Buffer.from(value).toString('base64');
  if (value instanceof URL) return value.href;
  if (Array.isArray(value)) return value.map((item) => convert(item) ?? null);
  if (typeof value === 'object' && value !== null) return convertFields(value);
  return isPlain(value) ? value : undefined;
}

function convertFields(record: object): Record<string, unknown> {
  const fields = Object.entries(record).map(([name, field]) => [name, convert(field)] as const);
  return Object.fromEntries(fields.filter(([, field]) => field !== undefined));
}

function isPlain(value: unknown): boolean {
  return value === null || ['string', 'boolean'].includes(typeof value) || Number.isFinite(value);
}
