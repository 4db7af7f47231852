import { randomUUID } from 'node:crypto';
import { createInterface, type Interface } from 'node:readline';
import { defineOptions, homeOptions, integer, text, url } from '@trunkline/config';
import { readSse } from '@trunkline/http';
import { z } from 'zod';
import { withoutControls } from '../chat/agent-api.ts';
import { findService, keyFor, operatorHeaders, withheldWords } from '../operator/operator-headers.ts';
import { portOptions } from '../ports.ts';
import { CommandError, defineCommand } from './command.ts';

const callMs = 15_000;

const NO_KEY =
  'The switchboard wants a key: set SWITCHBOARD_API_KEY, or TRUNKLINE_HOME to the home that it runs in.';

const messageSchema = z.object({
  topic: z.string(),
  correlationId: z.string(),
  payload: z.object({
    content: z.string().optional(),
    error: z.string().optional(),
    requestId: z.string().optional(),
    question: z.string().optional(),
    files: z.array(z.object({ name: z.string(), mediaType: z.string() })).catch([]),
  }),
});

export const sendOptions = defineOptions('send', 'Send: a message to the switchboard from the terminal', {
  switchboardUrl: url({
    env: 'SWITCHBOARD_URL',
    flag: '--url',
    doc: 'Address of the switchboard for trunkline send.',
    defaultDoc: 'where it runs from TRUNKLINE_HOME, else this machine, at SWITCHBOARD_PORT',
  }),
  switchboardPort: portOptions.switchboardPort,
  trunklineHome: homeOptions.trunklineHome,
  apiKey: text({
    env: 'SWITCHBOARD_API_KEY',
    secret: true,
    doc: 'Key of the switchboard, sent as X-API-Key or bearer token. The switchboard needs one to listen beyond this machine; keys.yaml in its workspace can hold more.',
  }),
  skill: text({
    flag: '--skill',
    doc: 'Skill to ask for.',
    defaultDoc: 'the router decides',
  }),
  timeoutS: integer({ flag: '--timeout', default: 600, min: 1, doc: 'Seconds to wait for an answer.' }),
});

/** Sends the words given, or each line of the terminal or a pipe, and prints what comes back. */
export const main = defineCommand({
  usage: 'trunkline send [TEXT]',
  options: sendOptions,
  takesWords: true,
  async run(options, env, words) {
    const { switchboardUrl: given, switchboardPort: port, trunklineHome: home } = options;
    const { apiKey, skill, timeoutS } = options;
    const target = await findService('switchboard', { given, port, home });
    const key = keyFor(target, apiKey);
    const client = new SwitchboardClient({
      url: target.url,
      key,
      ...(key === undefined &&
        apiKey !== undefined && {
          refusalAdvice: `The switchboard wants a key. ${withheldWords(target, 'SWITCHBOARD_API_KEY')}`,
        }),
      operatorHeaders: operatorHeaders(target.url, home, env),
      timeoutS,
    });
    const reader = createInterface({
      input: process.stdin,
      ...(process.stdin.isTTY && { output: process.stdout }),
    });
    const lines = reader[Symbol.asyncIterator]();
    try {
      if (words.length > 0) return await exchange(client, words.join(' '), skill, lines, reader);
      return await converse(client, skill, lines, reader);
    } finally {
      reader.close();
    }
  },
});

async function converse(
  client: SwitchboardClient,
  skill: string | undefined,
  lines: AsyncIterator<string>,
  reader: Interface,
): Promise<number> {
  let code = 0;
  prompt(reader, '> ');
  for (let line = await lines.next(); line.done !== true; line = await lines.next()) {
    if (line.value.trim() === '') return code;
    code = await exchange(client, line.value, skill, lines, reader);
    prompt(reader, '> ');
  }
  return code;
}

/** One message and its answer; questions on the way are answered by the next line. */
async function exchange(
  client: SwitchboardClient,
  message: string,
  skill: string | undefined,
  lines: AsyncIterator<string>,
  reader: Interface,
): Promise<number> {
  for await (const event of client.send(message, skill)) {
    if (event.type === 'end') {
      if (event.failed) console.error(event.text);
      else console.log(event.text);
      return event.failed ? 1 : 0;
    }
    console.log(`? ${event.text}`);
    prompt(reader, 'answer> ');
    const line = await lines.next();
    if (line.done === true) throw new CommandError('The question was not answered; it waits in the console.');
    await client.answer(event.requestId, line.value);
  }
  return 1;
}

function prompt(reader: Interface, words: string): void {
  if (!process.stdin.isTTY) return;
  reader.setPrompt(words);
  reader.prompt();
}

interface SwitchboardPlace {
  url: string;
  key: string | undefined;
  /** Said when it refuses; by default that it wants a key. */
  refusalAdvice?: string;
  /** Who is at the terminal, where the switchboard may know it. */
  operatorHeaders: Record<string, string>;
  /** Seconds to wait for an answer. */
  timeoutS: number;
}

/** What comes back while a message is being worked on. */
type SendEvent =
  | { type: 'question'; requestId: string; text: string }
  | { type: 'end'; text: string; failed: boolean };

/** The command line as a surface of the switchboard: publishes on `message.inbound.cli` and reads what comes back. */
export class SwitchboardClient {
  readonly #place: SwitchboardPlace;

  constructor(place: SwitchboardPlace) {
    this.#place = place;
  }

  /** Sends a message and gives what comes back; it listens before it sends, so that no answer is missed. */
  async *send(content: string, skill: string | undefined): AsyncGenerator<SendEvent> {
    const correlationId = randomUUID();
    const ending = new AbortController();
    const limit = AbortSignal.timeout(this.#place.timeoutS * 1000);
    try {
      const received = await this.#listen(AbortSignal.any([ending.signal, limit]));
      const payload = { content, ...(skill !== undefined && { skillHint: skill }) };
      await this.#post('/publish', { topic: 'message.inbound.cli', payload, correlationId });
      yield* eventsOf(received, correlationId);
    } catch (error) {
      if (isBrokenOff(error)) throw lost(error);
      if (!limit.aborted) throw error;
      const words = `No answer came within ${this.#place.timeoutS} s; the message is kept, and its flow tells how it goes on.`;
      throw new CommandError(words, { cause: error });
    } finally {
      ending.abort();
    }
  }

  async answer(requestId: string, answer: string): Promise<void> {
    await this.#post('/api/a2a/input', { requestId, answer });
  }

  async #listen(signal: AbortSignal): Promise<ReturnType<typeof readSse>> {
    const response = await this.#fetch('/api/bus/stream?topic=%23', { signal });
    if (response.body === null) throw new CommandError('The switchboard sent no stream.');
    return readSse(response.body);
  }

  async #post(path: string, body: unknown): Promise<void> {
    const signal = AbortSignal.timeout(callMs);
    await this.#fetch(path, { method: 'POST', body: JSON.stringify(body), signal });
  }

  async #fetch(path: string, init: RequestInit): Promise<Response> {
    const { url, key, refusalAdvice = NO_KEY, operatorHeaders } = this.#place;
    const headers = {
      'content-type': 'application/json',
      ...operatorHeaders,
      ...(key !== undefined && { 'x-api-key': key }),
    };
    const response = await fetch(`${url.replace(/\/+$/, '')}${path}`, { ...init, headers }).catch(
      (error: unknown) => {
        throw new CommandError(
          `The switchboard at ${url} could not be reached; start it, or set SWITCHBOARD_URL.`,
          { cause: error },
        );
      },
    );
    if (response.ok) return response;
    if (response.status === 401 || response.status === 403) {
      const reason = await reasonIn(response);
      throw new CommandError(`${refusalAdvice}${reason}`);
    }
    throw new CommandError(
      `The switchboard answered ${response.status}: ${(await response.text()).slice(0, 300)}`,
    );
  }
}

/** The switchboard says itself what it lacks. */
async function reasonIn(response: Response): Promise<string> {
  const { error } = (await response.json().catch(() => ({}))) as { error?: unknown };
  return typeof error === 'string' ? ` It says: ${error}` : '';
}

async function* eventsOf(
  received: ReturnType<typeof readSse>,
  correlationId: string,
): AsyncGenerator<SendEvent> {
  for await (const { data } of received) {
    const parsed = messageSchema.safeParse(JSON.parse(data));
    if (!parsed.success || parsed.data.correlationId !== correlationId) continue;
    const { topic, payload } = parsed.data;
    if (topic.startsWith('agent.input.request.') && payload.requestId !== undefined)
      yield { type: 'question', requestId: payload.requestId, text: payload.question ?? '' };
    if (topic !== 'message.outbound.cli') continue;
    const { content = '', files, error } = payload;
    // A terminal shows no files: it names them.
    const named = files.map(({ name, mediaType }) => withoutControls(`[file ${name}, ${mediaType}]`));
    const lines = [content, ...named].filter((line) => line !== '');
    yield { type: 'end', text: lines.join('\n'), failed: error !== undefined };
    return;
  }
  throw lost();
}

function lost(cause?: unknown): CommandError {
  const words = 'The switchboard closed the connection before the answer came; send it again.';
  return new CommandError(words, { cause });
}

/** How fetch reports a body whose sender is gone. */
function isBrokenOff(error: unknown): boolean {
  return error instanceof TypeError && error.message === 'terminated';
}
