import {
  addressSubject,
  type CallSubject,
  defineTool,
  type Effect,
  type ForeignDescription,
  foreignDescription,
  guessSubject,
  handOnFiles,
  InputRequired,
  inputFromSchema,
  type RunningTool,
  type ToolContext,
} from '@trunkline/llm';
import { errorMessage } from '@trunkline/std';
import { z } from 'zod';
import type { McpResource } from './catalogue.ts';
import type { McpContent } from './content.ts';
import { inputRequired, readAnswer } from './elicitation.ts';
import type { McpClient } from './mcp-client.ts';
import type { CallOutcome } from './running-calls.ts';
import type { McpTool } from './types.ts';

/** Most models accept letters, digits, - and _ in the name of a tool, and no more characters than this. */
const MAX_NAME = 64;
/** Time that a call may spend on connecting again before the server's own limit counts. */
const RECONNECT_MS = 20_000;
const MAX_LISTED = 200;

/** What tools use of the client of their server. */
export type ToolClient = Pick<
  McpClient,
  | 'server'
  | 'tools'
  | 'hasResources'
  | 'callTimeoutMs'
  | 'maxCallMs'
  | 'call'
  | 'answer'
  | 'resources'
  | 'readResource'
>;

const converted = new WeakMap<readonly McpTool[], RunningTool[]>();

/** The tools of a server as tools of an agent. */
export function toTools(client: ToolClient): RunningTool[] {
  const known = converted.get(client.tools);
  if (known !== undefined) return known;
  const description = descriptionOf(client);
  const describedIn = description && { describedIn: [description] };
  const tools = client.tools.map((tool) => ({ ...toTool(client, tool), ...describedIn }));
  if (client.hasResources) tools.push(resourceTool(client));
  converted.set(client.tools, tools);
  return tools;
}

/** What the server says about its tools, where the operator does not vouch for it. */
function descriptionOf({
  server,
  tools,
}: Pick<ToolClient, 'server' | 'tools'>): ForeignDescription | undefined {
  if (server.trusted || tools.length === 0) return undefined;
  return foreignDescription('mcp-description', server.name, tools);
}

function toTool(client: ToolClient, tool: McpTool): RunningTool {
  const { name, description, inputSchema } = tool;
  const { name: server, trusted = false } = client.server;
  return defineTool({
    name: toolName(server, name),
    description: description || `${name} of ${server}`,
    ...(!trusted && { describedBy: `The MCP server ${server}` }),
    input: inputOf(inputSchema),
    timeoutMs: client.maxCallMs + RECONNECT_MS,
    ...effectsOf(tool, client.server.trusted),
    // Of a server that the operator does not trust it is a claim.
    ...(client.server.trusted && tool.idempotent && { idempotent: true }),
    async execute(input, context) {
      const { signal } = context;
      try {
        const outcome = await outcomeOf(client, tool, input, context);
        if (outcome === undefined)
          return `Error: the MCP server ${server} no longer waits for this answer. Call the tool again if it is still needed.`;
        if ('question' in outcome) throw inputRequired(server, outcome.question);
        const { text, failed, files = [] } = outcome;
        return await handOn({ text: failed ? failureText(text) : text, files }, context);
      } catch (error) {
        if (signal.aborted || error instanceof InputRequired) throw error;
        return `Error: the MCP server ${server} gave no answer: ${errorMessage(error)}`;
      }
    },
  }) as RunningTool;
}

/** Of one call: each goes to a person. */
const MOST_QUESTIONS = 5;

/**
 * The tool for turns that do not pause: what the server asks in the middle of a call goes to `ask` at once. Without an
 * answer the question is cancelled, and the server says what it makes of that; so is what it asks after five questions.
 */
export function askingAtOnce(
  tool: RunningTool,
  ask: (question: string, signal: AbortSignal) => Promise<string | undefined>,
): RunningTool {
  return {
    ...tool,
    async execute(input, context) {
      let answered: ToolContext['answered'];
      for (let asked = 0; asked <= MOST_QUESTIONS + 1; asked += 1)
        try {
          return await tool.execute(input, { ...context, mayAsk: true, answered });
        } catch (error) {
          if (!(error instanceof InputRequired)) throw error;
          const said = asked < MOST_QUESTIONS ? await ask(error.message, context.signal) : undefined;
          answered = { text: said ?? 'cancel', schema: error.schema };
        }
      return `Error: the MCP server went on asking after ${MOST_QUESTIONS} questions. The call was given up.`;
    },
  };
}

/** The text of a result with what is in its documents, and what became of each file. */
async function handOn({ text, files }: McpContent, context: ToolContext): Promise<string> {
  return [text || '(no output)', ...(await handOnFiles(files, context))].join('\n');
}

/** A new call, or the rest of one whose question a person has answered. */
async function outcomeOf(
  client: ToolClient,
  { name, needsTask }: McpTool,
  input: Record<string, unknown>,
  { signal, sessionId, toolCallId, mayAsk = false, answered, report }: ToolContext,
): Promise<CallOutcome | undefined> {
  const key = `${sessionId} ${toolCallId}`;
  if (answered === undefined)
    return await client.call(name, input, { key, mayAsk, needsTask, signal, onProgress: report });
  const reply = readAnswer(client.server.name, answered);
  return await client.answer(key, reply, { signal, onProgress: report });
}

/** Lists and reads the resources of a server. */
function resourceTool(client: ToolClient): RunningTool {
  const { name: server, trusted = false } = client.server;
  return defineTool({
    name: toolName(server, 'resources'),
    description: `Reads data that the MCP server ${server} offers. Without a uri it lists what there is; templates have places in braces to fill in.`,
    input: z.object({ uri: z.string().max(2000).optional().describe('As the list names it.') }),
    timeoutMs: client.callTimeoutMs + RECONNECT_MS,
    external: true,
    // What a server without trust does with an address is not known.
    effects: trusted ? ['reads'] : ['reads', 'sends'],
    // A server that is trusted may go to the address, which may carry data out.
    subject: ({ uri }) =>
      uri === undefined
        ? {}
        : { recipient: `${server} ${uri}`, ...(/^\s*(?:https?|file):/i.test(uri) && addressSubject(uri)) },
    async execute({ uri }, context) {
      const { signal } = context;
      try {
        return uri === undefined
          ? resourceList(await client.resources(signal))
          : await handOn(await client.readResource(uri, signal), context);
      } catch (error) {
        if (signal.aborted) throw error;
        return `Error: the MCP server ${server} gave no answer: ${errorMessage(error)}`;
      }
    },
  }) as RunningTool;
}

function resourceList(resources: readonly McpResource[]): string {
  if (resources.length === 0) return 'There are no resources.';
  const lines = resources
    .slice(0, MAX_LISTED)
    .map(({ uri, name, description }) => `- ${uri} (${[name, description].filter(Boolean).join(': ')})`);
  const more = resources.length - MAX_LISTED;
  return [...lines, ...(more > 0 ? [`and ${more} more`] : [])].join('\n');
}

function toolName(server: string, tool: string): string {
  return `${server}_${tool}`.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, MAX_NAME);
}

/**
 * What a tool may do, by its annotations. Anybody can write those, so that of a server that the operator does not
 * trust they can only add effects.
 */
function effectsOf({ readOnly, destructive, openWorld }: McpTool, trusted = false) {
  const only: Effect[] = trusted && readOnly ? ['reads'] : ['reads', 'writes', 'sends'];
  const effects: Effect[] = destructive ? [...only, 'executes'] : only;
  const external = !(trusted && openWorld === false);
  return { effects, external, subject: subjectOf({ onlyReads: effects.length === 1, staysHere: !external }) };
}

/** Of a tool that only reads it is as good as declared: it can do nothing but go to an address. */
function subjectOf({ onlyReads, staysHere }: { onlyReads: boolean; staysHere: boolean }) {
  return (input: Record<string, unknown>): CallSubject => {
    const { guessed, ...subject } = guessSubject(input, { staysHere });
    return onlyReads || !guessed ? subject : { ...subject, guessed };
  };
}

/** A schema that Zod cannot read lets any object through: the server checks it anyway. */
function inputOf(schema: object): z.ZodType<Record<string, unknown>> {
  try {
    return inputFromSchema(schema);
  } catch (error) {
    if (error instanceof Error) return z.record(z.string(), z.unknown());
    throw error;
  }
}

function failureText(text: string): string {
  if (/^error:/i.test(text)) return text;
  return `Error: ${text || 'the tool failed without saying why'}`;
}
