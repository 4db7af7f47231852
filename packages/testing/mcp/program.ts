// An MCP server as a program: its arguments name the tools (`add` without any), `pages=COUNT/SIZE` asks for many.
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { createMcpTestServer, createPagedMcpServer } from './tools.ts';

const tools = process.argv.slice(2);
const [count, size] =
  tools[0]
    ?.match(/^pages=(\d+)\/(\d+)$/)
    ?.slice(1)
    .map(Number) ?? [];
if (tools.includes('broken')) {
  process.stderr.write(`fatal: bad token ${process.env.TOKEN}\n`);
  process.exit(1);
}
const server =
  count === undefined || size === undefined
    ? createMcpTestServer(tools.length === 0 ? ['add'] : tools, { variable: (name) => process.env[name] })
    : createPagedMcpServer(count, size);
await server.connect(new StdioServerTransport());
