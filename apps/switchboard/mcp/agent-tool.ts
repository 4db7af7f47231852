import { defineTool, type Tool } from '@trunkline/llm';
import { inputOfJsonSchema } from '@trunkline/tools';
import type { McpTool } from './mcp-link.ts';
import type { McpServerLine } from './server-line.ts';

/** Names of tools are letters, digits, - and _ for most models, and at most so long. */
const longestName = 64;

/** A tool of a server as a tool of an agent. */
export function toAgentTool(line: McpServerLine, { name, description, inputSchema }: McpTool): Tool {
  const server = line.server.name;
  return defineTool({
    name: `${server}_${name}`.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, longestName),
    description: description || `${name} of ${server}`,
    input: inputOfJsonSchema(inputSchema),
    async execute(input, { signal }) {
      try {
        const { text, failed } = await line.call(name, input, signal);
        return failed ? `Error: ${text}` : text || '(no output)';
      } catch (error) {
        if (signal.aborted) throw error;
        return `Error: ${error instanceof Error ? error.message : String(error)}`;
      }
    },
  }) as Tool;
}
