import { roleOf } from '@trunkline/identity';
import { markOf, type TurnPolicy } from '@trunkline/loop';
import type { McpClients, McpPrompt } from '@trunkline/mcp';
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
  return async (request: PromptRequest): Promise<Messages> => {
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
    return readPrompt(server, name, given, await answered(client.prompt(name, given, limit)));
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

/** The call that read the prompt, and its text as the result. */
function readPrompt(server: string, name: string, given: Record<string, string>, text: string): Messages {
  const call = { toolCallId: crypto.randomUUID(), toolName: 'mcp_prompt' };
  const input = { server, prompt: name, arguments: given };
  const mark = markOf([{ kind: 'mcp_prompt', source: commandOf(server, name) }]);
  const value = `The person chose this prompt and wants what it asks for:\n${text}`;
  const output = { type: 'text' as const, value };
  return [
    { role: 'assistant', content: [{ type: 'tool-call', ...call, input }] },
    { role: 'tool', content: [{ type: 'tool-result', ...call, output, ...mark }] },
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
