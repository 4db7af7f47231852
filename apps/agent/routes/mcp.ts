import type { AppEnv } from '@trunkline/http';
import type { Principal } from '@trunkline/identity';
import type { Tool } from '@trunkline/llm';
import {
  type McpEndpointOptions,
  type McpServerState,
  type McpToolEvent,
  mountMcpEndpoint,
} from '@trunkline/mcp';
import type { Hono } from 'hono';
import type { z } from 'zod';
import { operatorScope } from '../owners.ts';
import { mcpServerSection } from '../setup/config-schema.ts';
import { withoutQuestions } from '../turns/graph.ts';
import { consoleErrors } from './console/errors.ts';
import { jsonRoutes } from './json-routes.ts';

export type { McpServerState };

export interface McpRoutes {
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
  /** Ends the sessions of clients. */
  closing: AsyncDisposableStack;
  isOperator(principal: Principal): boolean;
  servers(): readonly McpServerState[];
  /** Connects to a server to see whether it answers, and leaves it again. */
  tryServer(server: z.output<typeof mcpServerSection>): Promise<McpServerState | undefined>;
}

/** The agent's tools for MCP clients, and the servers that it takes tools from. */
export function mountMcp(app: Hono<AppEnv>, routes: McpRoutes): void {
  const { get, post } = jsonRoutes(app);
  get('/api/mcp/servers', { summary: 'MCP servers that give tools' }, ({ principal }) => {
    const isOperator = routes.isOperator(principal);
    return { servers: routes.servers().map((state) => (isOperator ? state : withoutReasons(state))) };
  });
  const trial = { summary: 'See whether an MCP server answers', json: mcpServerSection };
  post('/api/mcp/servers/test', trial, async ({ json }) => ({ server: await routes.tryServer(json) }));
  const { name, version } = routes;
  const close = mountMcpEndpoint(app, {
    summary: 'The tools of the agent for MCP clients',
    name,
    version,
    assertEnabled() {
      if (!routes.isServing()) throw consoleErrors.not_loaded({ what: 'The MCP server (mcp.serve)' });
    },
    tools: () => withoutQuestions(routes.tools()),
    toolTimeoutMs: routes.toolTimeoutMs,
    policy: routes.policy,
    // Only the operator gets here.
    scope: operatorScope,
    onToolEvent: (event, principal) => routes.observe('mcp', event, principal),
  });
  routes.closing.defer(close);
}

/** For the operator alone: reasons and output may name what stands in variables. */
function withoutReasons({ name, state, tools }: McpServerState): McpServerState {
  return { name, state, tools };
}
