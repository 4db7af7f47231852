import type { AppEnv } from '@trunkline/http';
import type { Principal } from '@trunkline/identity';
import type { Tool } from '@trunkline/llm';
import {
  type McpClients,
  type McpEndpointOptions,
  type McpPrompt,
  type McpServerState,
  type McpToolEvent,
  mountMcpEndpoint,
  type ServedResources,
} from '@trunkline/mcp';
import type { Hono } from 'hono';
import type { z } from 'zod';
import { type Owners, operatorScope } from '../owners.ts';
import { mcpServerSection } from '../setup/config-schema.ts';
import type { KnowledgeStore } from '../stores/knowledge/knowledge-store.ts';
import type { NotesStore } from '../stores/notes/notes-store.ts';
import type { TriedServer } from '../toolset.ts';
import { withoutQuestions } from '../turns/graph.ts';
import { commandOf } from '../turns/mcp-prompts.ts';
import { consoleErrors } from './console/errors.ts';
import { jsonRoutes } from './json-routes.ts';
import { type AskAgentDeps, askAgentTool } from './mcp-agent.ts';

export type { McpServerState, TriedServer };

export interface McpRoutes extends AskAgentDeps, AgentResourceDeps {
  name: string;
  version: string;
  /** Whether the agent's tools are offered to MCP clients. */
  isServing(): boolean;
  /** Those that wait for a person are left out. */
  tools(): readonly Tool[];
  policy: McpEndpointOptions['policy'];
  /** Limit of a call, unless the tool has its own. */
  toolTimeoutMs(): number;
  /** Called with the events of each call, as with those of turns. */
  observe(sessionId: string, event: McpToolEvent, principal: Principal): void;
  /** The database of tasks that MCP clients began. */
  mcpTasksFile: string;
  /** Ends the sessions of clients. */
  closing: AsyncDisposableStack;
  isOperator(principal: Principal): boolean;
  mcp: McpClients;
  /** Connects to a server to see what it offers, and leaves it again. */
  tryServer(server: z.output<typeof mcpServerSection>): Promise<TriedServer | undefined>;
}

const INSTRUCTIONS =
  'ask_agent gives a task to the agent, which plans, uses its tools and answers; it reports progress. The other tools run one by one, without the agent. Notes and memories are resources.';

/** The agent and its tools for MCP clients, and the servers that it takes tools from. */
export function mountMcp(app: Hono<AppEnv>, routes: McpRoutes): void {
  const { get, post } = jsonRoutes(app);
  get('/api/mcp/servers', { summary: 'MCP servers that give tools' }, ({ principal }) => {
    const isOperator = routes.isOperator(principal);
    return { servers: routes.mcp.states.map((state) => (isOperator ? state : withoutReasons(state))) };
  });
  const trial = { summary: 'See whether an MCP server answers', json: mcpServerSection };
  post('/api/mcp/servers/test', trial, async ({ json }) => ({ server: await routes.tryServer(json) }));
  get('/api/mcp/prompts', { summary: 'Prompts of MCP servers, as the chat offers them' }, ({ signal }) =>
    promptsOf(routes.mcp, signal),
  );
  const { name, version } = routes;
  const ask = askAgentTool(routes);
  // Members must not meet in one session: tools keep goals, and what other agents ask, by it.
  const sessionOf = (principal: Principal) => {
    const asker = routes.owners.asker(principal);
    return asker === operatorScope ? 'mcp' : `mcp:${asker}`;
  };
  const close = mountMcpEndpoint(app, {
    summary: 'The agent and its tools for MCP clients',
    name,
    version,
    instructions: INSTRUCTIONS,
    assertEnabled() {
      if (!routes.isServing()) throw consoleErrors.not_loaded({ what: 'The MCP server (mcp.serve)' });
    },
    tools: () => [ask, ...withoutQuestions(routes.tools())],
    resources: agentResources(routes),
    tasksFile: routes.mcpTasksFile,
    toolTimeoutMs: routes.toolTimeoutMs,
    policy: routes.policy,
    scope: (principal) => routes.owners.memory({ principal, sessionId: '' }),
    sessionId: sessionOf,
    onToolEvent: (event, principal) => routes.observe(sessionOf(principal), event, principal),
  });
  routes.closing.defer(close);
}

/** A prompt under the name that a person types after the slash. */
export interface PromptCommand extends McpPrompt {
  command: string;
  server: string;
}

/** A server that does not answer has no prompts now; the list of servers says why. */
async function promptsOf(mcp: McpClients, signal: AbortSignal): Promise<{ prompts: PromptCommand[] }> {
  const lists = await Promise.allSettled(
    [...mcp].map(async (client) => {
      const { name: server } = client.server;
      const prompts = await client.prompts(signal);
      return prompts.map((prompt) => ({ ...prompt, server, command: commandOf(server, prompt.name) }));
    }),
  );
  return { prompts: lists.flatMap((list) => (list.status === 'fulfilled' ? list.value : [])) };
}

/** For the operator alone: reasons and output may name what stands in variables. */
function withoutReasons({ name, state, tools }: McpServerState): McpServerState {
  return { name, state, tools };
}

interface AgentResourceDeps {
  notes: NotesStore | undefined;
  /** Undefined while memory is off. */
  knowledge(): KnowledgeStore | undefined;
  owners: Owners;
}

const MAX_MEMORIES = 200;
const NAME_LENGTH = 80;
const markdown = 'text/markdown';

/** Notes and memories for MCP clients, to each caller their own. */
function agentResources({ notes, knowledge, owners }: AgentResourceDeps): ServedResources {
  const notesOf = (principal: Principal) => notes?.for(owners.actor(principal));
  const scopeOf = (principal: Principal) => owners.memory({ principal, sessionId: '' });
  return {
    list(principal) {
      const tabs = (notesOf(principal)?.tabs() ?? []).filter(({ permissions }) => permissions.agentRead);
      const memories = knowledge()?.list(MAX_MEMORIES, undefined, scopeOf(principal)) ?? [];
      return [
        ...tabs.map(({ name }) => ({
          uri: `notes://${encodeURIComponent(name)}`,
          name: `Notes: ${name}`,
          mimeType: markdown,
        })),
        ...memories.map(({ id, domain, heading, content }) => ({
          uri: `memory://${id}`,
          name: `Memory: ${(heading || content).slice(0, NAME_LENGTH)}`,
          description: `Of the domain ${domain}.`,
          mimeType: markdown,
        })),
      ];
    },
    read(uri, principal) {
      const { protocol, hostname, pathname } = URL.parse(uri) ?? {};
      const rest = decoded(`${hostname ?? ''}${pathname ?? ''}`);
      if (protocol === 'notes:') {
        const name = decoded(uri.slice('notes://'.length));
        const tab = notesOf(principal)
          ?.tabs()
          .find((each) => each.name === name && each.permissions.agentRead);
        return tab && { text: tab.content, mimeType: markdown };
      }
      if (protocol !== 'memory:' || !/^\d+$/.test(rest)) return undefined;
      const found = knowledge()?.get(Number(rest));
      if (found?.scope !== scopeOf(principal)) return undefined;
      return { text: found.content, mimeType: markdown };
    },
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // No address of ours.
    return '';
  }
}
