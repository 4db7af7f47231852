// Tries public MCP servers with our client, and the MCP inspector with our server: npm run interop:mcp [-- --no-install]
// Prints a line for each case; ends with 1 when one fails.
import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { type AttachedFile, InputRequired, type ToolContext } from '@trunkline/llm';
import { McpClients, type McpServerConfig } from '@trunkline/mcp';
import { startAgent } from '../../apps/agent/fixtures/start-agent.ts';

const here = import.meta.dirname;
const limitMs = 60_000;
const { values } = parseArgs({
  allowNegative: true,
  options: { install: { type: 'boolean', default: true } },
});
if (values.install) {
  console.error('npm ci in interop/mcp ...');
  execFileSync('npm', ['ci', '--ignore-scripts'], { cwd: here, stdio: ['ignore', 'ignore', 'inherit'] });
}

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'trunkline-interop-mcp-')));
const clients = new McpClients({
  clientName: 'trunkline-interop',
  logger: { warn: (fields, message) => console.error(message, fields) },
  sample: async ({ messages }) => ({ text: `sampled: ${messages.at(-1)?.text}`, model: 'test' }),
});
const agent = await startAgent();
let failures = 0;
/** Tools that were called. */
const tried = new Set<string>();
try {
  writeFileSync(join(folder, 'note.txt'), 'The lamp is lit at dusk.');
  await clients.configure([
    program('everything', [], { sampling: { callsPerHour: 5, maxTokens: 100 }, roots: [folder] }),
    program('filesystem', [folder]),
    program('memory', [], { env: { MEMORY_FILE_PATH: join(folder, 'memory.jsonl') } }),
  ]);
  await publicServers();
  await inspector();
} finally {
  await clients.close();
  await agent.stop();
  rmSync(folder, { recursive: true, force: true });
}
process.exit(failures > 0 ? 1 : 0);

function program(
  name: string,
  args: readonly string[],
  more: Partial<McpServerConfig> = {},
): McpServerConfig {
  const script = join(here, `node_modules/@modelcontextprotocol/server-${name}/dist/index.js`);
  return { name, command: process.execPath, args: [script, ...args], ...more };
}

async function publicServers(): Promise<void> {
  const signal = AbortSignal.timeout(limitMs);
  const everything = clients.get('everything');
  await holds('everything: a call', 'Echo: hi', () => call('everything_echo', { message: 'hi' }));
  const told: string[] = [];
  await holds('everything: progress', 'completed', () =>
    call(
      'everything_trigger-long-running-operation',
      { duration: 1, steps: 2 },
      { report: (text) => told.push(text) },
    ),
  );
  await holds('everything: progress in words', '50 %', async () => told.join(' '));
  await holds('everything: resource links', 'demo://resource/', () => call('everything_get-resource-links'));
  await holds('everything: resources', 'demo://resource/static/', () => call('everything_resources'));
  await holds('everything: a resource of a template', 'Resource 7', () =>
    call('everything_resources', { uri: 'demo://resource/dynamic/text/7' }),
  );
  const promptOf = async (...given: [string, Record<string, string>]) =>
    (await everything?.prompt(...given, signal))?.text;
  await holds('everything: a prompt', 'Ulm', () => promptOf('args-prompt', { city: 'Ulm' }));
  await holds('everything: roots', folder, () => call('everything_get-roots-list'));
  await holds('everything: sampling', 'sampled: ', () =>
    call('everything_trigger-sampling-request', { prompt: 'Hello', maxTokens: 20 }),
  );
  await holds('everything: a question, answered', 'Ada', () =>
    answering('everything_trigger-elicitation-request', '{"name":"Ada"}'),
  );
  await holds('everything: a question, declined', 'declined', () =>
    answering('everything_trigger-elicitation-request', 'decline'),
  );
  await holds('everything: a tool that is a task', 'Ulm', () =>
    call('everything_simulate-research-query', { topic: 'Ulm' }),
  );
  await holds('everything: a task that asks, answered', 'Ulm', () =>
    answering('everything_simulate-research-query', '{"interpretation":"technical"}', {
      topic: 'Ulm',
      ambiguous: true,
    }),
  );
  await holds('everything: a text with a picture', 'image/png', () =>
    call('everything_get-annotated-message', { messageType: 'success', includeImage: true }),
  );
  const attached: string[] = [];
  const attach = async (file: AttachedFile) =>
    void attached.push(`${file.mediaType} ${file.bytes.length > 0}`);
  await holds('everything: a picture for the person', 'image/png true', async () => {
    await call('everything_get-tiny-image', {}, { attach });
    return attached.join(' ');
  });
  await holds('everything: an embedded resource', 'Resource 1', () =>
    call('everything_get-resource-reference', { resourceType: 'Text', resourceId: 1 }),
  );
  await holds('everything: a file that it packs', 'application/gzip true', async () => {
    const data = 'data:text/plain;base64,aGk=';
    const given = { name: 'hi.txt.gz', data, outputType: 'resource' };
    attached.length = 0;
    const text = await call('everything_gzip-file-as-resource', given, { attach });
    return `${attached.join(' ')} ${text}`;
  });
  await holds('everything: structured content', 'temperature', () =>
    call('everything_get-structured-content', { location: 'Chicago' }),
  );
  await holds('everything: a sum', '42', () => call('everything_get-sum', { a: 40, b: 2 }));
  await holds('everything: its environment, without ours', 'PATH', () => call('everything_get-env'));
  await holds('everything: logging', 'ogging', () => call('everything_toggle-simulated-logging'));
  await holds('everything: updates of resources', 'pdates', () =>
    call('everything_toggle-subscriber-updates'),
  );
  await holds('everything: a text in base64', 'Resource 3', async () =>
    JSON.stringify(await everything?.readResource('demo://resource/dynamic/blob/3', signal)),
  );
  const prompts: [string, Record<string, string>, string][] = [
    ['simple-prompt', {}, 'simple prompt'],
    ['completable-prompt', { department: 'Engineering', name: 'Ada' }, 'Ada'],
    ['resource-prompt', { resourceType: 'Text', resourceId: '1' }, 'Resource 1'],
  ];
  for (const [name, given, wanted] of prompts)
    await holds(`everything: the prompt ${name}`, wanted, () => promptOf(name, given));
  const untried = clients.tools
    .map(({ name }) => name)
    .filter((name) => name.startsWith('everything_') && !tried.has(name));
  await holds('everything: every tool that it offers us', 'none', async () => untried.join(' ') || 'none');
  await holds('filesystem: its own folder', folder, () => call('filesystem_list_allowed_directories'));
  await holds('filesystem: a file', 'lit at dusk', () =>
    call('filesystem_read_text_file', { path: join(folder, 'note.txt') }),
  );
  await holds('filesystem: a file outside', 'Access denied', () =>
    call('filesystem_read_text_file', { path: '/etc/hostname' }),
  );
  const entities = [{ name: 'Ada', entityType: 'person', observations: ['counts'] }];
  await holds('memory: writes', 'Ada', () => call('memory_create_entities', { entities }));
  await holds('memory: reads', 'counts', () => call('memory_read_graph'));
}

/** The command line of the inspector, as its documentation has it. */
async function inspector(): Promise<void> {
  const inspect = async (...more: string[]) => {
    const script = join(here, 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js');
    const address = ['--cli', `${agent.url}/mcp`, '--transport', 'http'];
    const { stdout } = await promisify(execFile)(process.execPath, [script, ...address, ...more], {
      timeout: limitMs,
    });
    return stdout;
  };
  const tool = (name: string, argument: string) =>
    inspect('--method', 'tools/call', '--tool-name', name, '--tool-arg', argument);
  await holds('inspector: tools/list', '"ask_agent"', () => inspect('--method', 'tools/list'));
  await holds('inspector: a tool', '= 32', () => tool('calculator', 'expression=2**5'));
  await holds('inspector: ask_agent', '42', () => tool('ask_agent', 'message=what is 6 * 7?'));
  await holds('inspector: resources/list', 'notes://', () => inspect('--method', 'resources/list'));
  await holds('inspector: resources/read', 'text/markdown', () =>
    inspect('--method', 'resources/read', '--uri', 'notes://Notes'),
  );
  await holds('inspector: schemas that all clients take', '"ask_agent"', () =>
    inspect('--method', 'tools/list', '--strict'),
  );
}

async function call(name: string, input: object = {}, context: Partial<ToolContext> = {}): Promise<string> {
  tried.add(name);
  const tool = clients.tools.find((each) => each.name === name);
  if (tool === undefined) throw new Error(`there is no tool ${name}`);
  const signal = AbortSignal.timeout(limitMs);
  const given = { signal, sessionId: 'interop', toolCallId: name, ...context };
  return await tool.execute(tool.input.parse(input), given);
}

async function answering(name: string, text: string, input: object = {}): Promise<string> {
  try {
    return await call(name, input, { mayAsk: true });
  } catch (error) {
    if (!(error instanceof InputRequired)) throw error;
    return await call(name, input, { answered: { text, schema: error.schema } });
  }
}

async function holds(title: string, wanted: string, work: () => Promise<string | undefined>): Promise<void> {
  const found = await work().catch((error: unknown) => String(error));
  const isGood = found?.includes(wanted) ?? false;
  if (!isGood) failures += 1;
  console.log(isGood ? `ok     ${title}` : `FAILS  ${title}: ${found?.slice(0, 500)}`);
}
