import { randomUUID } from 'node:crypto';
import { createInterface, type Interface } from 'node:readline';
import {
  type Artifact,
  createA2aClient,
  type RemoteAgent,
  RemoteAgentError,
  type RemoteEvent,
  sourcesIn,
  toolCallMediaType,
} from '@trunkline/a2a';
import { defineOptions, type Environment, homeOptions, text, url } from '@trunkline/config';
import { isServedAt } from '@trunkline/service';
import {
  type AgentApi,
  chooseModel,
  describeModels,
  fileAddress,
  findChat,
  plainLines,
  withoutControls,
} from '../chat/agent-api.ts';
import {
  findService,
  keyFor,
  operatorHeaders,
  type Target,
  withheldWords,
} from '../operator/operator-headers.ts';
import { portOptions } from '../ports.ts';
import { CommandError, defineCommand } from './command.ts';

const MODEL_COMMAND = /^\/model(?:\s+(\S+))?$/;

const marks = { started: '·', completed: '✓', failed: '✗' } as const;

export const chatOptions = defineOptions('chat', 'Chat: a conversation with the agent in the terminal', {
  agentUrl: url({
    env: 'AGENT_URL',
    flag: '--url',
    doc: 'Address of the agent for trunkline chat: of its service, its endpoint or its card.',
    defaultDoc: 'where it runs from TRUNKLINE_HOME, else this machine, at AGENT_PORT',
  }),
  agentPort: portOptions.agentPort,
  trunklineHome: homeOptions.trunklineHome,
  authToken: text({
    env: 'A2A_AUTH_TOKEN',
    secret: true,
    doc: 'Token that callers of the agent, and of voice over A2A, must send as bearer token.',
  }),
});

const ownOptions = defineOptions('trunkline chat', chatOptions.title, {
  ...chatOptions.options,
  chat: text({
    flag: '--chat',
    doc: 'Continues this chat, with the model that was chosen for it: the id at the end of the address of its page.',
  }),
  model: text({
    flag: '--model',
    doc: 'Model of the chat, of those that its page offers; "standard" for the configured one. It stays with the chat.',
  }),
});

/** Reads lines from the terminal, or from a pipe, until they end; Ctrl-C stops an answer, and at the prompt the program. */
export const main = defineCommand({
  usage: 'trunkline chat',
  options: ownOptions,
  async run({ agentPort: port, agentUrl: given, authToken, trunklineHome: home, chat, model }, env) {
    const target = await findService('agent', { given, port, home });
    const { url: agentUrl } = target;
    const token = keyFor(target, authToken);
    const operator = operatorHeaders(agentUrl, home, env);
    const api = agentApi(target, authToken, env);
    const known = chat === undefined ? undefined : await findChat(api, chat);
    const client = new AgentClient(endpointOf(target), token, operator, known?.branch);
    if (model !== undefined) await chooseModel(api, client.contextId, model);
    const writer = new ChatWriter(process.stdout, process.stdout.isTTY === true);
    const reader = createInterface({
      input: process.stdin,
      ...(process.stdin.isTTY && { output: process.stdout }),
    });
    try {
      writer.line(
        `Talking to the agent at ${agentUrl}. An empty line or Ctrl-D ends the conversation; /model shows and changes the model.`,
      );
      if (known)
        writer.line(`Continuing "${known.title}" with ${model ?? known.model ?? 'the standard model'}.`);
      await converse({ client, api, writer, reader });
      if (process.stdin.isTTY) writer.line(`Continue with "npx trunkline chat --chat ${client.contextId}".`);
      return 0;
    } catch (error) {
      if (!(error instanceof RemoteAgentError)) throw error;
      writer.finish();
      const advice = (error.code === 'agent_unauthorized' ? api.withheld : undefined) ?? adviceFor(error);
      throw new CommandError(`${error.message.replace(/[^.!?]$/, '$&.')} ${advice}`, { cause: error });
    } finally {
      reader.close();
    }
  },
});

/** An address that somebody named is that of a service, an endpoint or a card; of our own service we know the endpoint. */
function endpointOf({ url, isNamed, home }: Target): string {
  const isOurs = !isNamed || (isServedAt(home, url) && new URL(url).pathname === '/');
  return isOurs ? new URL('/a2a', url).href : url;
}

/** The agent's own API, with the keys that may go there. */
export function agentApi(target: Target, authToken: string | undefined, env: Environment): AgentApi {
  const token = keyFor(target, authToken);
  const isWithheld = token === undefined && authToken !== undefined;
  return {
    url: target.url,
    headers: {
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...operatorHeaders(target.url, target.home, env),
    },
    withheld: isWithheld ? withheldWords(target, 'A2A_AUTH_TOKEN') : undefined,
  };
}

interface Terminal {
  client: AgentClient;
  api: AgentApi;
  writer: ChatWriter;
  reader: Interface;
}

async function converse({ client, api, writer, reader }: Terminal): Promise<void> {
  let answering = false;
  reader.on('SIGINT', () => {
    if (!answering) return reader.close();
    client.cancel().catch((error: Error) => writer.line(`[${error.message}]`));
  });
  prompt(client, reader);
  for await (const line of reader) {
    if (line.trim() === '') return;
    const command = MODEL_COMMAND.exec(line.trim());
    if (command !== null) writer.line(await changeModel(api, client.contextId, command[1]));
    else {
      answering = true;
      for await (const event of client.send(line))
        if (event.type === 'file') writer.line(await fileLine(event, api));
        else writer.write(event);
      answering = false;
    }
    prompt(client, reader);
  }
}

/** A terminal shows no files: it names them, with an address to open where there is one. */
async function fileLine({ name, mediaType, uri, id }: FileEvent, api: AgentApi): Promise<string> {
  const given = uri !== undefined && /^https?:/.test(uri) ? uri : undefined;
  const address = given ?? (id === undefined ? undefined : await fileAddress(api, id));
  return withoutControls(`[file ${name}, ${mediaType}${address === undefined ? '' : `: ${address}`}]`);
}

/** Shows or chooses the model of this chat; what cannot be chosen does not end the conversation. */
async function changeModel(api: AgentApi, chat: string, name: string | undefined): Promise<string> {
  try {
    if (name !== undefined) await chooseModel(api, chat, name);
    return await describeModels(api, chat);
  } catch (error) {
    if (error instanceof CommandError) return error.message;
    throw error;
  }
}

// Only for a person: lines that come through a pipe are read ahead, and need no prompt.
function prompt(client: AgentClient, reader: Interface): void {
  if (!process.stdin.isTTY) return;
  reader.setPrompt(client.waiting ? 'answer> ' : '> ');
  reader.prompt();
}

/** Writes the events of a conversation to a terminal: text as it comes, tools and questions on lines of their own. */
class ChatWriter {
  readonly #output: NodeJS.WritableStream;
  readonly #dim: (text: string) => string;
  #atLineStart = true;

  constructor(output: NodeJS.WritableStream, colours: boolean) {
    this.#output = output;
    this.#dim = colours ? (text) => `\u001b[2m${text}\u001b[22m` : (text) => text;
  }

  write(event: Exclude<ChatEvent, FileEvent>): void {
    if (event.type === 'text') this.#put(plainLines(event.text));
    else if (event.type === 'end') this.#end(event.state, event.text);
    else if (event.type === 'question') this.line(`? ${event.text}`);
    else this.line(`  ${marks[event.phase]} ${event.name} ${event.detail}`.trimEnd(), this.#dim);
  }

  line(text: string, style = (plain: string) => plain): void {
    this.finish();
    this.#put(`${style(plainLines(text))}\n`);
  }

  /** Ends an open line. */
  finish(): void {
    if (!this.#atLineStart) this.#put('\n');
  }

  // What completed says nothing more; any other end is named with its reason.
  #end(state: string, reason: string): void {
    if (state !== 'completed') this.line(reason === '' ? `[${state}]` : `[${state}] ${reason}`);
    this.finish();
  }

  #put(text: string): void {
    if (text === '') return;
    this.#output.write(text);
    this.#atLineStart = text.endsWith('\n');
  }
}

/** What a turn of the agent shows in the terminal. */
type ChatEvent =
  | { type: 'text'; text: string }
  | { type: 'tool'; name: string; phase: 'started' | 'completed' | 'failed'; detail: string }
  | { type: 'question'; text: string }
  | FileEvent
  | { type: 'end'; state: string; text: string };

interface FileEvent {
  type: 'file';
  name: string;
  mediaType: string;
  /** Where it gives a link. */
  uri: string | undefined;
  /** The agent's own id of it. */
  id: string | undefined;
}

const SILENCE_LIMIT_MS = 600_000;
const LONGEST_DETAIL = 100;

/** One conversation with an agent service over A2A: knows its context, and the task that waits for an answer. */
class AgentClient {
  readonly #client = createA2aClient();
  readonly #agent: RemoteAgent;
  readonly #joins: { joins: true } | undefined;
  /** The id of the chat, also on the page. */
  readonly contextId: string;
  #taskId: string | undefined;
  #waiting = false;
  #hasText = false;
  /** Files of the task that were named already: its end holds all of them again. */
  readonly #named = new Set<string>();

  /** `operatorHeaders`: who is at the terminal, where the agent may know it. `chat`: the one to continue, if any. */
  constructor(
    url: string,
    token: string | undefined,
    operatorHeaders: Record<string, string> = {},
    chat?: string,
  ) {
    this.contextId = chat ?? randomUUID();
    this.#joins = chat === undefined ? undefined : { joins: true };
    const credentials = token === undefined ? {} : { credentials: { bearer: token } };
    this.#agent = {
      name: `at ${url}`,
      url,
      headers: operatorHeaders,
      ...credentials,
    };
  }

  /** Whether the agent asked something that the next message answers. */
  get waiting(): boolean {
    return this.#waiting;
  }

  /** Sends a message and gives what the agent says and does until its turn ends. */
  async *send(text: string): AsyncGenerator<ChatEvent> {
    const answered = this.#waiting && this.#taskId !== undefined ? { taskId: this.#taskId } : {};
    if (!this.#waiting) this.#named.clear();
    this.#waiting = false;
    this.#hasText = false;
    const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    const metadata = { channel: 'terminal', timezone, ...this.#joins };
    const message = { text, contextId: this.contextId, metadata, ...answered };
    for await (const event of this.#client.stream(this.#agent, message, { timeoutMs: SILENCE_LIMIT_MS })) {
      yield* this.#read(event);
    }
  }

  /** Stops the task that is running, if there is one. */
  async cancel(): Promise<void> {
    if (this.#taskId !== undefined) await this.#client.cancel(this.#agent, this.#taskId);
  }

  #read(event: RemoteEvent): ChatEvent[] {
    if (event.type === 'task-start') this.#taskId = event.taskId;
    if (event.type === 'text-delta') {
      this.#hasText = true;
      return [{ type: 'text', text: event.text }];
    }
    if (event.type === 'artifact') return [...toolEvents(event.artifact), ...this.#files([event.artifact])];
    if (event.type !== 'task-end') return [];
    const { state, statusText: text, artifacts } = event.reply;
    const files = this.#files(artifacts);
    this.#waiting = state === 'input-required';
    if (this.#waiting) return [...files, { type: 'question', text }];
    // Some agents give their answer in one piece at the end.
    const whole = this.#hasText || state !== 'completed' ? '' : event.reply.text;
    const sources = sourcesIn(artifacts.flatMap(({ parts }) => parts));
    const below = sources === '' ? '' : `\n\n${sources}\n`;
    return [{ type: 'text', text: whole + below }, ...files, { type: 'end', state, text }];
  }

  #files(artifacts: readonly Artifact[]): ChatEvent[] {
    const all = artifacts.flatMap(({ artifactId, parts }) => parts.map((part) => ({ artifactId, part })));
    return all.flatMap(({ artifactId, part }): ChatEvent[] => {
      if (part.type !== 'file') return [];
      const { name = 'file', mediaType = 'application/octet-stream', uri, bytes, metadata } = part;
      const key = JSON.stringify([artifactId, name, uri, bytes?.length]);
      if (this.#named.has(key)) return [];
      this.#named.add(key);
      const id = typeof metadata?.file === 'string' ? metadata.file : undefined;
      return [{ type: 'file', name, mediaType, uri, id }];
    });
  }
}

/** What to do about a call that failed, for the person at the terminal. */
function adviceFor(error: RemoteAgentError): string {
  if (error.code === 'agent_unreachable')
    return 'Start it with "npm start", or set AGENT_URL to where it runs.';
  if (error.code === 'agent_unauthorized') return 'Set A2A_AUTH_TOKEN to the token it was started with.';
  return 'The log of the agent service has more.';
}

function toolEvents({ parts }: Artifact): ChatEvent[] {
  return parts.flatMap((part) => {
    if (part.type !== 'data' || part.metadata?.mimeType !== toolCallMediaType) return [];
    const { name, phase, args, result } = part.data as Record<string, unknown>;
    if (phase !== 'started' && phase !== 'completed' && phase !== 'failed') return [];
    return [
      { type: 'tool', name: String(name), phase, detail: oneLine(phase === 'started' ? args : result) },
    ];
  });
}

function oneLine(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  const flat = text.replace(/\s+/g, ' ').trim();
  return flat.length > LONGEST_DETAIL ? `${flat.slice(0, LONGEST_DETAIL - 1)}…` : flat;
}
