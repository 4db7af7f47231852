import type { Logger } from '@trunkline/config';
import { anonymous, type Principal } from '@trunkline/identity';
import type { AttachedFile, ModelGateway, Tool } from '@trunkline/llm';
import type { StoredFile } from '@trunkline/loop';
import {
  askingAtOnce,
  createSampler,
  type McpClient,
  McpClients,
  type McpTool,
  type OAuthOptions,
  probeMcpServer,
  toTools,
} from '@trunkline/mcp';
import type { Policy } from '@trunkline/policy';
import type { Sandbox } from '@trunkline/sandbox';
import { errorMessage, plainName } from '@trunkline/std';
import type { MessageFiles } from '../content/message-files.ts';
import type { SkillExecutor, SkillRequest, SkillResult } from '../dispatch/executor.ts';
import type { ExecutorRegistry, SkillStore } from '../dispatch/registry.ts';
import { fieldsOf } from '../dispatch/request.ts';
import type { McpServer } from '../workspace/schema/agent.ts';

export interface McpServersOptions {
  servers: () => readonly McpServer[];
  registry: ExecutorRegistry;
  store: SkillStore;
  logger: Logger;
  sandbox: Sandbox;
  policy: Policy;
  files: Pick<MessageFiles, 'put' | 'turnFiles'>;
  /** Of the model that servers with limits for it may use. */
  gateway: ModelGateway;
  /** Holds the sign-ins to servers. */
  secrets: OAuthOptions['store'];
}

const shared = {
  clientName: 'switchboard',
  configuredIn: ({ name }: McpServer) => `mcp-servers.d/${name}.yaml`,
  isOffered,
};

/** Connects to every enabled server, registers its tools as skills `<server>.<tool>` and grants them to agents. */
export function createMcpServers(options: McpServersOptions) {
  const { store, logger, sandbox, gateway, files } = options;
  const oauth = { store: options.secrets };
  const clients = new McpClients<McpServer>({
    ...shared,
    logger,
    sandbox,
    oauth,
    sample: createSampler({
      gateway: () => gateway,
      policy: options.policy.for('switchboard'),
      files: ({ principal }) => files.turnFiles(principal),
    }),
    storedTools: ({ name }) => store.recall<McpTool>('mcp', name),
    onChange: (client) => {
      if (client !== undefined) storeTools(client);
      register();
    },
  });

  /** Registers tools known from before the restart; `refresh` connects. */
  function restore(): void {
    clients.add(enabled());
  }

  /** Connects to the servers of the files. */
  function refresh(): Promise<void> {
    return clients.configure(enabled());
  }

  /** Only the operator may see `stderr`. */
  function failureOf(name: string): Pick<McpClient, 'error' | 'stderr'> {
    return clients.get(name) ?? { error: undefined, stderr: undefined };
  }

  /** Tools granted to an in-process agent; `ask` asks the person for a server. */
  function toolsFor(agent: string, ask: Parameters<typeof askingAtOnce>[1]): Tool[] {
    const granted = [...clients].filter(({ server }) => isGranted(server, agent));
    return granted.flatMap(toTools).map((tool) => askingAtOnce(tool, ask));
  }

  /** Connects once and lists the tools that the entry lets through. */
  function probe(server: McpServer): Promise<McpTool[]> {
    return probeMcpServer(server, { ...shared, sandbox, oauth });
  }

  function close(): Promise<void> {
    return clients.close();
  }

  function enabled(): McpServer[] {
    return options
      .servers()
      .filter(isEnabled)
      .map((server) => ({ ...server, trusted: server.trust !== 'community' }));
  }

  function storeTools({ server: { name }, tools }: McpClient<McpServer>): void {
    try {
      store.keep('mcp', name, tools);
    } catch (error) {
      logger.warn({ err: error, server: name }, 'failed to store the tools of an MCP server');
    }
  }

  function register(): void {
    const known = [...clients].filter(({ tools }) => tools.length > 0);
    const policy = options.policy.for('switchboard');
    options.registry.replace(
      'mcp',
      known.map((client) => executorOf(client, policy, options.files)),
    );
  }

  return { restore, refresh, failureOf, toolsFor, probe, close };
}

export type McpServers = ReturnType<typeof createMcpServers>;

/** Community servers are off by default, others on. */
export function isEnabled({ trust, enabled }: McpServer): boolean {
  return enabled ?? trust !== 'community';
}

/** `grants` lists agents or `*`; without it, all agents have the tools of built-in servers. */
export function isGranted({ trust, grants }: McpServer, agent: string): boolean {
  if (grants === undefined) return trust === 'builtin';
  return grants.includes(agent) || grants.includes('*');
}

function isOffered({ allowedTools, excludeTools = [] }: McpServer, tool: string): boolean {
  return (allowedTools === undefined || allowedTools.includes(tool)) && !excludeTools.includes(tool);
}

type ServicePolicy = ReturnType<Policy['for']>;

function executorOf(
  client: McpClient<McpServer>,
  policy: ServicePolicy,
  store: McpServersOptions['files'],
): SkillExecutor {
  const { name: server } = client.server;
  return {
    agent: server,
    type: 'mcp',
    skills: client.tools.map(({ name, description }) => ({
      name: `${server}.${name}`,
      description,
      keywords: [],
      ...(client.server.trust === 'community' && { foreign: true }),
      ...(!client.isConfirmed && { pending: true }),
    })),
    async execute(request, { signal }) {
      const name = request.skill.slice(server.length + 1);
      const tool = toTools(client)[client.tools.findIndex((offered) => offered.name === name)];
      if (tool === undefined) return rejected(`${server} has no tool ${name}`);
      const input = argumentsOf(request);
      const refusal = refusalOf(tool, input, request, policy);
      if (refusal !== undefined) return rejected(refusal);
      const { principal = anonymous, correlationId: key } = request;
      const needsTask = client.tools.find((offered) => offered.name === name)?.needsTask;
      const outcome = await client.call(name, input, { key, mayAsk: false, needsTask, signal });
      if ('question' in outcome) return rejected(`${server} asks a question, and nobody can be asked here`);
      const { files, problems } = await storeFiles(outcome.files ?? [], principal, store, signal);
      const content = [outcome.text, ...problems, ...unreadFiles(request)].filter(Boolean).join('\n');
      const origins = tool.external ? { origins: [{ kind: tool.name, source: server }] } : {};
      const made = files.length > 0 ? { files } : {};
      const result: SkillResult = { content, taskState: 'completed', ...origins, ...made };
      return outcome.failed ? { ...result, error: content, taskState: 'failed' } : result;
    },
  };
}

/** Stores the files of a tool's result for whoever asked; `problems` names those that could not be stored. */
async function storeFiles(
  made: readonly AttachedFile[],
  principal: Principal,
  store: McpServersOptions['files'],
  signal: AbortSignal,
): Promise<{ files: StoredFile[]; problems: string[] }> {
  const [files, problems]: [StoredFile[], string[]] = [[], []];
  for (const { bytes, mediaType, name: given } of made) {
    const name = plainName(given);
    // Nobody waits for the rest.
    signal.throwIfAborted();
    try {
      files.push(await store.put({ bytes, mediaType, name }, principal));
    } catch (error) {
      problems.push(`[${name} could not be handed on: ${errorMessage(error)}]`);
    }
  }
  return { files, problems };
}

/** The protocol has no way to give a file to a tool, so whoever sent one is told. */
function unreadFiles({ files = [], skill }: SkillRequest): string[] {
  if (files.length === 0) return [];
  const names = files.map(({ name }) => plainName(name)).join(', ');
  return [
    `[${skill} was called without ${names}: MCP tools take no files. Ask an agent, which reads them and calls the tool.]`,
  ];
}

function rejected(error: string): SkillResult {
  return { content: '', error, taskState: 'rejected' };
}

/**
 * Nobody can be asked here: what policy does not allow at once is refused, unless a person has just allowed it where an
 * agent hands it on.
 */
function refusalOf(
  { name, effects, subject }: Tool,
  input: Record<string, unknown>,
  { principal = anonymous, correlationId, approved = false }: SkillRequest,
  { agent, decide, spend, record }: ServicePolicy,
): string | undefined {
  const origins = principal.origins ?? [];
  const call = { principal, agent, tool: name, effects, subject: subject?.(input) ?? {}, origins };
  const { decision, rule, why } = decide(call);
  const isAllowed = decision === 'allow' || (decision === 'ask' && approved);
  const spent = isAllowed ? spend(call) : undefined;
  const isRun = isAllowed && spent === undefined;
  record({
    request: call,
    input,
    decision,
    rule,
    result: isRun ? 'started' : 'refused',
    sessionId: correlationId,
  });
  if (isRun) return undefined;
  if (spent !== undefined) return `${name} was not run: ${spent}.`;
  return `${name} was not run, because policy does not allow it here: ${why}.`;
}

/** The content is the tool's input as a JSON object; plain text becomes `input`. */
function argumentsOf({ content }: SkillRequest): Record<string, unknown> {
  try {
    return fieldsOf(JSON.parse(content));
  } catch {
    return { input: content };
  }
}
