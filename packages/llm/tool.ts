import type { Origin, Principal } from '@trunkline/identity';
import { errorMessage } from '@trunkline/std';
import { z } from 'zod';

/** What a running tool knows about the call it serves. */
export interface ToolContext {
  signal: AbortSignal;
  sessionId: string;
  toolCallId: string;
  /** On whose behalf the turn runs, with what it has read from outside; anonymous when not given. */
  principal?: Principal | undefined;
  /** Whose memories the turn may read and write; see the agent's memory scopes. */
  scope?: string | undefined;
  /** IANA zone of the person for whom the turn runs, where it is known. */
  timezone?: string | undefined;
  /** Says that this result holds text from outside the operator's trust, for tools of which only some results do. */
  addOrigins?: ((origins: readonly Origin[]) => void) | undefined;
  /** Says that the result of an `external` tool holds nothing from outside after all: it reached nobody, or found nothing. */
  ownWords?: (() => void) | undefined;
  /** Whether policy lets this call reach something else too: a file that a search meets, the target of a redirect. */
  permits?: ((subject: CallSubject) => boolean) | undefined;
  /** A person, or a rule that the operator wrote, has allowed exactly this call. */
  approved?: boolean | undefined;
  /** Whether the tool may throw `InputRequired`: somebody can be asked, and the turn waits for the answer. */
  mayAsk?: boolean | undefined;
  /** The answer to the question of an earlier run of this very call. */
  answered?: AnsweredInput | undefined;
  /** Names this call, the same if the turn is run again after a crash: for whoever can tell that it was made before. */
  idempotencyKey?: string | undefined;
  /** Says how far the call is, in a few words for the person. */
  report?: ((text: string) => void) | undefined;
  /**
   * Says that another model is at work on the call, and may be silent for so many milliseconds: the time limits of the
   * call and of the turn start again.
   */
  onActivity?: ((silentMs: number) => void) | undefined;
  /**
   * Hands a file to whoever asked: an artifact of the task, a picture in the chat. Missing where files are not stored. Of
   * a document that is shown it gives the text, which comes from outside, or why it cannot be read.
   */
  attach?: ((file: AttachedFile) => Promise<string | undefined>) | undefined;
  /** Gives the model a stored file that the person sent while the call ran, as one that came with a message. */
  show?: ((fileId: string) => Promise<void>) | undefined;
}

export interface AttachedFile {
  name: string;
  mediaType: string;
  bytes: Uint8Array;
  /** The model gets it too: it sees pictures, hears sound and reads documents. */
  isShown?: boolean;
}

/** What a person answered, with the schema that the question had. */
export interface AnsweredInput {
  text: string;
  schema?: unknown;
}

/**
 * Thrown by a running tool that needs an answer of a person before it can go on. The turn pauses; with the answer the
 * call is run again, with `answered` in its context.
 */
export class InputRequired extends Error {
  /** A form, as `request_user_input` takes it. */
  readonly schema: unknown;

  constructor(question: string, schema?: unknown) {
    super(question);
    this.schema = schema;
  }
}

/**
 * What a call can do to the world. `reads` alone changes nothing anywhere, so that such a call may be cancelled at any
 * time and made again. Policy decides by these, so declare all that a tool has.
 *
 * - `writes`: changes stored data: notes, memory, files, schedules.
 * - `sends`: hands text to somebody else: a chat, a mail, an agent, the bus.
 * - `spends`: costs money beyond the tokens of this turn.
 * - `executes`: runs a program.
 * - `configures`: changes what services or agents may do.
 */
export type Effect = (typeof effects)[number];

export const effects = ['reads', 'writes', 'sends', 'spends', 'executes', 'configures'] as const;

/** What a call is about, for rules and for the person who is asked. */
export interface CallSubject {
  path?: string;
  /** The whole address of a network read; its host is matched too. */
  url?: string;
  host?: string;
  command?: string;
  /** A channel, an agent, a topic, an address of mail. */
  recipient?: string;
  /** It stays within our own services, which are told what this turn has read and decide for themselves. */
  internal?: boolean;
  /** Found by the names and formats of the arguments, not declared by the tool: a person's yes to it covers no other call. */
  guessed?: boolean;
  /** More of the same call. A rule that allows has to fit all of them, one that asks or denies any. */
  others?: readonly CallSubject[];
}

/**
 * What happens to a running call when a caller interrupts: it is cancelled, it goes on in silence and its result is
 * announced later, or it holds the floor and what the caller says is answered when it is done.
 */
export type Interruption = (typeof interruptions)[number];

export const interruptions = ['cancel', 'finish', 'hold'] as const;

/** What an interruption does to a call of the tool. */
export function interruptionOf({
  interruption,
  effects,
}: Pick<RunningTool, 'interruption' | 'effects'>): Interruption {
  return interruption ?? (isReadOnly({ effects }) ? 'cancel' : 'finish');
}

/** What an MCP server or another agent says about itself. Its kind and source name it as an origin. */
export interface ForeignDescription {
  kind: 'mcp-description' | 'agent-card';
  source: string;
  text: string;
  /** Of all that reaches the model: texts, names, schemas. */
  sha256: string;
}

interface ToolHead<Input> {
  name: string;
  description: string;
  input: z.ZodType<Input>;
  effects: readonly Effect[];
  /** Its output comes from outside the operator's trust: pages, mails, issues, other agents. */
  external?: boolean;
  /** Origins of what a call reads that its arguments name, for one whose output arrives without a context. */
  originsOf?(input: Input, principal: Principal | undefined): readonly Origin[];
  /** Who wrote the description and the schema, where that is somebody whom the operator does not vouch for. */
  describedBy?: string;
  /** The texts of others that stand in the description and the schema: they mark a turn until the operator accepts them. */
  describedIn?: readonly ForeignDescription[];
  subject?(input: Input): CallSubject;
}

/** A tool that runs here and answers with a string; a failure starts with `Error:`. */
export interface RunningTool<Input = unknown> extends ToolHead<Input> {
  pause?: false;
  timeoutMs?: number;
  /** What an interruption by the caller does to a running call; `cancel` if left out and it only reads, else `finish`. */
  interruption?: Interruption;
  /**
   * A call may be made twice, with one effect: by its nature (true), or because `idempotencyKey` goes to whoever knows it
   * again, for ever or for a while. The key is another one where the steps of the turn could not be stored.
   */
  idempotent?: boolean | 'by-key' | { withinMs: number };
  /** Such a call must not be made twice all the same: only this process knows what it goes on with. */
  isOnce?(input: Input, sessionId: string): boolean;
  /** Calls with the same key ask for the same thing. Without it, calls with the same arguments do. */
  callKey?(input: Input): string;
  /** Who is named as the source of a result that is announced later; the tool itself if left out. */
  answeredBy?(input: Input): string;
  /** For these inputs the call waits for an answer from outside, as with a pausing tool, and does not run. */
  pausesFor?(input: Input): boolean;
  execute(input: Input, context: ToolContext): Promise<string>;
}

/** A tool whose answer comes from outside: calling it ends the turn until the answer is supplied. */
export interface PausingTool<Input = unknown> extends ToolHead<Input> {
  pause: true;
  execute?: never;
}

export type Tool<Input = unknown> = RunningTool<Input> | PausingTool<Input>;

/** Schemas of inputs that were given as JSON. */
const givenSchemas = new WeakMap<z.ZodType, object>();

/**
 * Any input, which models are told to write as the schema says. For schemas that strangers send: as a schema of Zod, one
 * with an `id` is rewritten and stays in Zod's registry for ever.
 */
export function inputOfSchema(schema: object): z.ZodType<unknown> {
  const input = z.unknown();
  givenSchemas.set(input, schema);
  return input;
}

type SchemaRegistry = ReturnType<typeof z.registry<Record<string, unknown>>>;

/** What schemas of strangers say beside types, each kept apart: Zod's own registry holds one with an `id` for ever. */
const registries = new WeakMap<z.ZodType, SchemaRegistry>();
const anyInput = z.record(z.string(), z.unknown());

/** Objects that a JSON schema of a program or server allows. Throws where Zod cannot read it. */
export function inputFromSchema(schema: object): z.ZodType<Record<string, unknown>> {
  const registry = z.registry<Record<string, unknown>>();
  const read = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0], { registry });
  const input = read.pipe(anyInput as z.ZodType<Record<string, unknown>, unknown>);
  registries.set(input, withDescriptions(registry));
  return input;
}

/** Zod keeps descriptions in its own registry in any case, weakly. An `id` would turn the schema into a reference. */
function withDescriptions(registry: SchemaRegistry): SchemaRegistry {
  const get = (schema: z.ZodType) => {
    const { id: _dropped, ...said } = { ...z.globalRegistry.get(schema), ...registry.get(schema) };
    return said;
  };
  const all = z.registry<Record<string, unknown>>();
  return Object.assign(all, { get });
}

/** The schema of an input as JSON, for models. */
export function schemaOfInput(input: z.ZodType): object {
  const metadata = registries.get(input);
  return (
    givenSchemas.get(input) ??
    z.toJSONSchema(input, {
      io: 'input',
      target: 'draft-7',
      unrepresentable: 'any',
      ...(metadata && { metadata }),
    })
  );
}

/** Declares a tool so that the type of its input follows from its schema. */
export function defineTool<Input>(tool: RunningTool<Input>): RunningTool<Input>;
export function defineTool<Input>(tool: PausingTool<Input>): PausingTool<Input>;
export function defineTool<Input>(tool: Tool<Input>): Tool<Input> {
  return tool;
}

/** Whether a call changes nothing anywhere. */
export function isReadOnly({ effects }: Pick<Tool, 'effects'>): boolean {
  return effects.every((effect) => effect === 'reads');
}

/** The subject of a network read. Text that is no address is left to the tool, which refuses it. */
export function urlSubject(url: string): CallSubject {
  const address = URL.parse(url.trim());
  return address === null ? {} : { url: address.href, host: address.hostname };
}

/** Hands the files of a result to the person and to the model. Gives what is in documents, and what became of each file. */
export async function handOnFiles(
  files: readonly AttachedFile[],
  { attach, addOrigins, signal }: Pick<ToolContext, 'attach' | 'addOrigins' | 'signal'>,
): Promise<string[]> {
  const notes: string[] = [];
  for (const { name, mediaType, bytes } of files)
    if (attach === undefined)
      notes.push(`(${name}, ${mediaType}, was left out: files cannot be handed on here. Say so.)`);
    else
      try {
        const read = await attach({ name, mediaType, bytes, isShown: true });
        notes.push(`(The person was given ${name}.)`);
        if (read === undefined) continue;
        notes.push(read);
        // Also of somebody who is trusted: they may not have written their files.
        addOrigins?.([{ kind: 'file', source: name }]);
      } catch (error) {
        signal.throwIfAborted();
        notes.push(`(${name} could not be handed on: ${errorMessage(error)})`);
      }
  return notes;
}

/** A media type without parameters: they would go on to whoever gets the file. */
export function plainMediaType(given = ''): string {
  return /^[a-z]+\/[a-z0-9.+-]+/i.exec(given)?.[0].toLowerCase() ?? 'application/octet-stream';
}
