import { registerHooks } from 'node:module';
import { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import type { FetchedResponse, FromPlugin, ToPlugin } from './messages.ts';

/**
 * Runs in a plugin's own process, started without rights to files, processes and threads: takes the network and signals
 * away too, then loads the entry. What is taken away here only keeps honest code in its bounds; the namespaces that
 * confinement.ts asks for hold against hostile code.
 */
interface PluginTool {
  name: string;
  description: string;
  parameters: Record<string, unknown>;
  execute(input: unknown): Promise<string> | string;
}

interface Host {
  fetch(
    url: string,
    request?: { method?: string; headers?: Record<string, string>; body?: string },
  ): Promise<FetchedResponse>;
}

const ALLOWED = new Set(
  'assert buffer crypto events path path/posix querystring stream stream/consumers stream/promises string_decoder timers timers/promises url util zlib fs fs/promises'.split(
    ' ',
  ),
);

const PROCESS =
  'getBuiltinModule binding _linkedBinding dlopen kill _kill _debugProcess _debugEnd _getActiveHandles'.split(
    ' ',
  );

/** One message a line; the service opened it as file 3. */
const channel = new Socket({ fd: 3, readable: true, writable: true });
const tell = (message: FromPlugin) => channel.write(`${JSON.stringify(message)}\n`);
const fetching = new Map<number, PromiseWithResolvers<FetchedResponse>>();
const tools = new Map<string, PluginTool>();
let fetches = 0;

function takeAwayNetworkAndSignals(): void {
  registerHooks({
    resolve(specifier, context, next) {
      const resolved = next(specifier, context);
      const name = /^node:(.*)$/.exec(resolved.url)?.[1];
      if (name !== undefined && !ALLOWED.has(name)) throw new Error(`a plugin may not use node:${name}`);
      return resolved;
    },
  });
  for (const name of ['fetch', 'WebSocket', 'EventSource']) Reflect.deleteProperty(globalThis, name);
  for (const name of PROCESS) Reflect.deleteProperty(process, name);
  // Response and Headers load the HTTP client behind fetch, which leaves itself here unless something is there.
  for (const version of [1, 2])
    Object.defineProperty(globalThis, Symbol.for(`undici.globalDispatcher.${version}`), {
      value: Object.freeze({}),
    });
}

const host: Host = {
  fetch(url, request = {}) {
    fetches += 1;
    const waiting = Promise.withResolvers<FetchedResponse>();
    fetching.set(fetches, waiting);
    tell({ type: 'fetch-start', id: fetches, url: String(url), request });
    return waiting.promise;
  },
};

async function run({ id, tool, input }: { id: number; tool: string; input: unknown }): Promise<void> {
  try {
    tell({ type: 'call-end', id, text: String(await tools.get(tool)?.execute(input)) });
  } catch (error) {
    tell({ type: 'call-end', id, error: reasonOf(error) });
  }
}

createInterface({ input: channel }).on('line', (line) => {
  const message = JSON.parse(line) as ToPlugin;
  if (message.type === 'call') void run(message);
  else {
    const waiting = fetching.get(message.id);
    fetching.delete(message.id);
    if (message.response === undefined) waiting?.reject(new Error(message.error ?? 'the fetch failed'));
    else waiting?.resolve(message.response);
  }
});
channel.on('error', () => process.exit(0));
channel.once('close', () => process.exit(0));

try {
  takeAwayNetworkAndSignals();
  const entry: { default: (host: Host) => Promise<{ tools: PluginTool[] }> | { tools: PluginTool[] } } =
    await import(pathToFileURL(process.argv[2] ?? '').href);
  for (const tool of (await entry.default(host)).tools) tools.set(tool.name, tool);
  tell({
    type: 'ready',
    tools: [...tools.values()].map(({ name, description, parameters }) => ({
      name,
      description,
      parameters,
    })),
  });
} catch (error) {
  tell({ type: 'failed', error: reasonOf(error) });
}

/** Plugins may throw anything. This process may read nothing but its own folder, so it cannot import @trunkline/std. */
function reasonOf(error: unknown): string {
  const { message } = Object(error) as { message?: unknown };
  return typeof message === 'string' ? message : String(error);
}
