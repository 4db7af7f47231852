import { type FoundGateway, limitBody } from '@trunkline/std';
import { z } from 'zod';

const host = '127.0.0.1';

/** Where Ollama, LM Studio, llama.cpp and vLLM listen unless told otherwise. */
const usualPorts: readonly number[] = [11434, 1234, 8080, 8000];

const requestLimitMs = 1500;

/** Strangers on these ports may send anything. */
const mostBytes = 4 * 1024 * 1024;

interface Answer {
  status: number;
  server: string;
  json: unknown;
}

interface Kind {
  kind: FoundGateway['kind'];
  title: string;
  /** What this program alone answers. */
  path: string;
  isIt(answer: Answer): boolean;
}

const kinds: readonly Kind[] = [
  { kind: 'ollama', title: 'Ollama', path: '/api/version', isIt: has({ version: z.string() }) },
  { kind: 'lmstudio', title: 'LM Studio', path: '/api/v0/models', isIt: has({ data: z.array(z.unknown()) }) },
  {
    kind: 'llamacpp',
    title: 'llama.cpp',
    path: '/props',
    isIt: (answer) => answer.server.includes('llama.cpp') || isProps(answer),
  },
  { kind: 'vllm', title: 'vLLM', path: '/version', isIt: has({ version: z.string() }) },
];

const isProps = has({ default_generation_settings: z.object({}) });

const listing = z.object({ data: z.array(z.object({ id: z.string() })) });

/** Looks for model servers on this machine, at their usual ports and nowhere else. Call it only when somebody asked for it. */
export async function findGateways(
  signal: AbortSignal,
  ports = usualPorts,
  limitMs = requestLimitMs,
): Promise<FoundGateway[]> {
  const within = () => AbortSignal.any([signal, AbortSignal.timeout(limitMs)]);
  const found = await Promise.all(ports.map((port) => lookAt(port, within())));
  signal.throwIfAborted();
  return found.filter((gateway) => gateway !== undefined);
}

async function lookAt(port: number, signal: AbortSignal): Promise<FoundGateway | undefined> {
  const root = `http://${host}:${port}`;
  const list = await ask(`${root}/v1/models`, signal);
  if (list === undefined) return undefined;
  const answers = await Promise.all(kinds.map(({ path }) => ask(`${root}${path}`, signal)));
  const known = kinds.find(({ isIt }, at) => {
    const answer = answers[at];
    return answer !== undefined && isIt(answer);
  });
  const models = listing.safeParse(list.json).data?.data.map(({ id }) => id);
  const needsKey = list.status === 401 || list.status === 403;
  if (models === undefined && !(known !== undefined && needsKey)) return undefined;
  const { kind, title } = known ?? { kind: 'other', title: 'OpenAI-compatible server' };
  return { kind, title, url: `${root}/v1`, models: models ?? [], needsKey };
}

function has(shape: z.ZodRawShape): (answer: Answer) => boolean {
  const schema = z.object(shape);
  return ({ status, json }) => status === 200 && schema.safeParse(json).success;
}

/** Undefined where nothing answers, or nothing that can be read. */
async function ask(address: string, signal: AbortSignal): Promise<Answer | undefined> {
  try {
    const response = await fetch(address, { signal, redirect: 'error' });
    const text = await limitBody(response, { maxBytes: mostBytes }).text();
    const server = response.headers.get('server')?.toLowerCase() ?? '';
    return { status: response.status, server, json: parseJson(text) };
  } catch {
    // Most ports are closed: that is what the search is to find out.
    return undefined;
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
