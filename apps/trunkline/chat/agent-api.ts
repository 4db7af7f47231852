import { z } from 'zod';
import { CommandError } from '../commands/command.ts';

const LIMIT_MS = 15_000;

/** Where the agent is, or another service that `name` says, and what shows who asks. */
export interface AgentApi {
  url: string;
  name?: string;
  headers: Readonly<Record<string, string>>;
  /** What to do where it refuses because a key was kept back. */
  withheld?: string | undefined;
}

/** Asks a route of the agent's own API; fails with words for the terminal. */
export async function askAgent(
  { url, name = 'agent', headers, withheld }: AgentApi,
  path: string,
  { method = 'GET', body }: { method?: 'GET' | 'POST' | 'PUT'; body?: object } = {},
): Promise<unknown> {
  const request = {
    method,
    headers: { ...headers, ...(body !== undefined && { 'content-type': 'application/json' }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(LIMIT_MS),
  };
  const response = await fetch(new URL(path, url), request).catch((error: unknown) => {
    throw new CommandError(
      `Cannot reach the ${name} at ${new URL(url).origin}. Start it with "npm start", or set ${name.toUpperCase()}_URL to where it runs.`,
      { cause: error },
    );
  });
  const answered = await response.json().catch(() => undefined);
  if (response.ok) return answered;
  const { data: refusal } = z
    .object({ detail: z.string().optional(), error: z.string().optional() })
    .safeParse(answered);
  const words = refusal?.detail ?? refusal?.error ?? `It answered with status ${response.status}.`;
  const advice = response.status === 401 && withheld !== undefined ? ` ${withheld}` : '';
  throw new CommandError(`The ${name} at ${new URL(url).origin} refused: ${words}${advice}`);
}

const chatSchema = z.object({
  chat: z.object({ title: z.string() }).nullable(),
  branch: z.string(),
  model: z.string().nullable(),
});
const modelsSchema = z.object({
  standard: z.string(),
  models: z.array(z.object({ id: z.string(), name: z.string() })),
  problem: z.string().nullable(),
});

const fileSchema = z.object({ url: z.string() });

const STANDARD = 'standard';

/** A chat as the page knows it: where it goes on, and which model answers in it. */
export async function findChat(api: AgentApi, id: string) {
  const { chat, branch, model } = chatSchema.parse(await askAgent(api, chatPath(id)));
  if (chat === null)
    throw new CommandError(`There is no chat ${id}. Its id is at the end of the address of its page.`);
  return { title: withoutControls(chat.title), branch, model };
}

/** Chooses the model of a chat, as its page does; "standard" is the configured one. */
export async function chooseModel(api: AgentApi, chat: string, name: string): Promise<void> {
  const model = name === STANDARD ? null : name;
  await askAgent(api, `${chatPath(chat)}/model`, { method: 'PUT', body: { model } });
}

/** Which model answers in a chat, and which others it may use. */
export async function describeModels(api: AgentApi, chat: string): Promise<string> {
  const { standard, models, problem } = modelsSchema.parse(await askAgent(api, '/api/chat/models'));
  const { model } = chatSchema.parse(await askAgent(api, chatPath(chat)));
  const now = `This chat uses ${model ?? `${standard} (${STANDARD})`}.`;
  if (problem !== null) return `${now} ${problem}`;
  if (models.length === 0) return `${now} There is no other to choose.`;
  const others = models.map(({ id, name }) => (id === name ? id : `${id} (${name})`)).join(', ');
  return withoutControls(`${now} Choose with "/model NAME": ${STANDARD}, ${others}.`);
}

/** Where a file of a chat can be read for an hour; undefined where the agent does not say. */
export async function fileAddress(api: AgentApi, id: string): Promise<string | undefined> {
  try {
    const { url } = fileSchema.parse(await askAgent(api, `/api/chat/files/${encodeURIComponent(id)}`));
    return new URL(url, api.url).href;
  } catch (error) {
    if (error instanceof CommandError || error instanceof z.ZodError) return undefined;
    throw error;
  }
}

function chatPath(id: string): string {
  return `/api/chat/sessions/${encodeURIComponent(id)}`;
}

/** A text of several lines from a model, a page or another service, without what a terminal would act upon. */
export function plainLines(text: string): string {
  return text.replaceAll('\r', '').replace(/(?![\n\t])\p{Cc}|[\u202a-\u202e\u2066-\u2069]/gu, '\ufffd');
}

/** Control characters in the name of a file, a chat or a caller must not reach the terminal. */
export function withoutControls(line: string): string {
  return line.replace(/\p{Cc}|\p{Cf}/gu, '\ufffd');
}
