import { roleOf } from '@trunkline/identity';
import {
  attachTo,
  markOf,
  type StoredFile,
  type TurnFiles,
  type TurnPolicy,
  withMedia,
} from '@trunkline/loop';
import type { McpClients, McpContent, McpPrompt } from '@trunkline/mcp';
import { errorMessage } from '@trunkline/std';
import type { TurnRequest } from './running-turns.ts';
import type { Messages } from './session-store.ts';
import { TurnRefusal } from './turn-runner.ts';

const COMMAND = /^\/([A-Za-z0-9_-]+):(\S+)(?:\s+([\s\S]*))?$/;
const FIELD = /(?:^|\s)([A-Za-z0-9_.-]+)=("[^"]*"|\S+)/g;
const TIMEOUT_MS = 20_000;

type PromptRequest = Pick<TurnRequest, 'text' | 'principal' | 'sessionId' | 'signal'>;

/** What a person types to use a prompt of a server. */
export function commandOf(server: string, prompt: string): string {
  return `/${server}:${prompt}`;
}

/**
 * Reads the prompt that a message `/server:prompt name=value other="two words"` names; a prompt with one argument takes
 * the rest of the line. The person's words ask for the prompt; its text was written by others, so it follows as the
 * result of a tool does, marked and fenced. Nothing follows any other message, and none of those who may not use the
 * server.
 */
export function promptOpener(mcp: McpClients, policy: TurnPolicy) {
  return async (request: PromptRequest, files: TurnFiles): Promise<Messages> => {
    const { text: message, signal } = request;
    const [, server = '', name = '', rest = ''] = COMMAND.exec(message.trim()) ?? [];
    const client = mcp.get(server);
    if (client === undefined || !mayAsk(policy, server, request)) return [];
    const limit = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
    const answered = <Result>(work: Promise<Result>) =>
      work.catch((error: unknown) => {
        if (signal.aborted) throw error;
        throw new TurnRefusal(`The MCP server ${server} gave no prompt: ${errorMessage(error)}`);
      });
    const prompts = await answered(client.prompts(limit));
    const prompt = prompts.find((each) => each.name === name);
    if (prompt === undefined) throw new TurnRefusal(unknownPrompt(server, name, prompts));
    const given = argumentsOf(prompt, rest);
    const missing = prompt.arguments.filter((field) => field.required && given[field.name] === undefined);
    if (missing.length > 0) {
      const fields = missing.map((field) => `${field.name}=…`).join(' ');
      throw new TurnRefusal(`${commandOf(server, name)} needs ${fields}`);
    }
    const read = await answered(client.prompt(name, given, limit));
    return readPrompt({ server, prompt: name, arguments: given }, read, files, signal);
  };
}

/**
 * Asking for a prompt hands its arguments to the server, with the operator's sign-in there. What guests say, or what was
 * drawn from text from outside, is no command.
 */
function mayAsk(policy: TurnPolicy, server: string, { text, principal, sessionId }: PromptRequest): boolean {
  const { origins = [] } = principal;
  const request = {
    principal,
    agent: policy.agent,
    tool: `${server}_prompt`,
    effects: ['reads' as const, 'sends' as const],
    subject: { recipient: server },
    origins,
  };
  const { decision, rule, why } = policy.decide(request);
  const refused = decision === 'allow' ? policy.spend?.(request) : why;
  const result = refused === undefined ? 'started' : 'refused';
  policy.record?.({ request, input: { text }, decision, rule, result, sessionId });
  if (refused === undefined) return true;
  if (roleOf(principal) === 'guest' || origins.length > 0) return false;
  throw new TurnRefusal(`The prompt of the MCP server ${server} was not read: ${refused}.`);
}

interface PromptCall {
  server: string;
  prompt: string;
  arguments: Record<string, string>;
}

/** The call that read the prompt, and its text and files as the result. */
async function readPrompt(
  input: PromptCall,
  { text, files: given }: McpContent,
  files: TurnFiles,
  signal: AbortSignal,
): Promise<Messages> {
  const call = { toolCallId: crypto.randomUUID(), toolName: 'mcp_prompt' };
  const mark = markOf([{ kind: 'mcp_prompt', source: commandOf(input.server, input.prompt) }]);
  const made: StoredFile[] = [];
  const attach = attachTo(made, files, signal);
  const documents: string[] = [];
  for (const file of given)
    try {
      documents.push((await attach?.({ ...file, isShown: true })) ?? '');
    } catch (error) {
      signal.throwIfAborted();
      documents.push(`(${file.name} could not be read: ${errorMessage(error)})`);
    }
  const value = ['The person chose this prompt and wants what it asks for:', text, ...documents]
    .filter(Boolean)
    .join('\n');
  const output = { type: 'text' as const, value };
  const result = { type: 'tool-result' as const, ...call, output, ...mark };
  return [
    { role: 'assistant', content: [{ type: 'tool-call', ...call, input }] },
    { role: 'tool', content: [withMedia(result, made)] },
  ];
}

function argumentsOf({ arguments: fields }: McpPrompt, rest: string): Record<string, string> {
  const named = [...rest.matchAll(FIELD)].map(([, key = '', value = '']) => [
    key,
    value.replace(/^"|"$/g, ''),
  ]);
  const known = named.filter(([key]) => fields.some((field) => field.name === key));
  if (known.length > 0) return Object.fromEntries(known);
  const [only] = fields;
  return only === undefined || rest.trim() === '' ? {} : { [only.name]: rest.trim() };
}

function unknownPrompt(server: string, name: string, prompts: readonly McpPrompt[]): string {
  const known = prompts.map((prompt) => commandOf(server, prompt.name)).join(', ');
  return `${server} has no prompt ${name}. ${known === '' ? 'It has none.' : `There are: ${known}.`}`;
}
