import { basename } from 'node:path';
import { defineErrors, describeRoute, validate } from '@trunkline/http';
import type { Principal } from '@trunkline/identity';
import type { McpServerError } from '@trunkline/mcp';
import { errorMessage } from '@trunkline/std';
import type { Hono } from 'hono';
import { parse, parseDocument } from 'yaml';
import { z } from 'zod';
import type { McpServerView } from '../api-types.ts';
import type { ControlPlane } from '../control/control-plane.ts';
import { redactEntry, redactText } from '../control/redact.ts';
import { isEnabled, type McpServers } from '../mcp/mcp-servers.ts';
import { type McpServer, mcpServerSchema } from '../workspace/schema/agent.ts';
import { type CommandBus, commandErrors, sendCommand } from './control.ts';
import type { SwitchboardEnv } from './guards.ts';

const errors = defineErrors({
  server_unknown: [404, ({ name }: { name: string }) => `There is no MCP server ${name}.`],
  server_failed: [502, ({ reason }: { reason: string }) => `The server cannot be used: ${reason}`],
});

export interface McpRoutes {
  list: () => readonly McpServer[];
  servers: McpServers;
  isOperator(principal: Principal): boolean;
  bus: CommandBus;
  controlPlane: ControlPlane;
}

const hiddenReason = 'It cannot be used; the operator sees why.';
const enabledBody = z.object({ enabled: z.boolean() });

/** Lists and tests MCP servers; the write API changes them. */
export function mountMcpServers(app: Hono<SwitchboardEnv>, parts: McpRoutes): void {
  const { list, servers, isOperator, controlPlane } = parts;
  const find = (name: string) => {
    const server = list().find((entry) => entry.name === name);
    if (server === undefined) throw errors.server_unknown({ name });
    return server;
  };
  // Variables are expanded in what the service works with: others see none of it, the operator what the file says.
  const shown = async (server: McpServer, principal: Principal): Promise<McpServerView> => {
    const { name, transport, trust } = server;
    const { error = null, stderr } = servers.failureOf(name);
    const enabled = isEnabled(server);
    if (!isOperator(principal)) return { name, transport, trust, enabled, error: error && hiddenReason };
    const written = redactText((await controlPlane.read('mcp', name)) ?? '');
    return {
      ...(redactEntry(server) as Omit<McpServerView, 'env' | 'headers'>),
      ...(parse(written) as object | null),
      // Only names of variables and headers are shown: values may be secrets.
      ...(transport === 'stdio'
        ? { env: Object.keys(server.env) }
        : { headers: Object.keys(server.headers) }),
      enabled,
      error,
      stderr,
    };
  };
  app.get('/api/mcp-servers', describeRoute({ summary: 'The MCP servers' }), async (context) =>
    context.json({
      success: true,
      data: await Promise.all(list().map((server) => shown(server, context.get('principal')))),
    }),
  );
  const one = describeRoute({ summary: 'An MCP server', errors: [errors.server_unknown] });
  app.get('/api/mcp-servers/:name', one, async (context) =>
    context.json({
      success: true,
      data: await shown(find(context.req.param('name')), context.get('principal')),
    }),
  );
  const trial = describeRoute({
    summary: 'Connects to a server and lists its tools',
    errors: [errors.server_failed],
  });
  app.post('/api/mcp-servers/test', trial, validate('json', mcpServerSchema), async (context) =>
    context.json({ success: true, data: await tryOut(context.req.valid('json'), servers) }),
  );
  const again = describeRoute({
    summary: 'Connects once more to a server of the workspace and lists its tools',
    errors: [errors.server_unknown, errors.server_failed],
  });
  app.post('/api/mcp-servers/:name/test', again, async (context) =>
    context.json({ success: true, data: await tryOut(find(context.req.param('name')), servers) }),
  );
  mountEnabling(app, parts, find);
}

/** Edits the file, so that values which the lists leave out stay. */
function mountEnabling(
  app: Hono<SwitchboardEnv>,
  { bus, controlPlane }: McpRoutes,
  find: (name: string) => McpServer,
): void {
  const route = describeRoute({
    summary: 'Switches an MCP server on or off',
    errors: [errors.server_unknown, commandErrors.command_refused],
  });
  app.post('/api/mcp-servers/:name/enabled', route, validate('json', enabledBody), async (context) => {
    const { name } = find(context.req.param('name'));
    const { enabled } = context.req.valid('json');
    const document = parseDocument((await controlPlane.read('mcp', name)) ?? '');
    document.set('enabled', enabled);
    const file = basename(controlPlane.fileOf('mcp', name));
    const payload = { name, file, yaml: document.toString() };
    await sendCommand(context, bus, 'command.mcp.upsert', payload);
    return context.json({ success: true, data: { name, enabled } });
  });
}

async function tryOut(server: McpServer, servers: McpServers) {
  const tools = await servers.probe(server).catch((cause: McpServerError) => {
    const reason = [errorMessage(cause), cause.stderr].filter(Boolean).join('\n');
    throw errors.server_failed({ reason }, { cause });
  });
  return { tools: tools.map(({ name, description }) => ({ name, description })) };
}
