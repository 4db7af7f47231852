import type { Tool, ToolContext } from '@trunkline/llm';

/** Calls a tool the way a turn does: its schema reads the arguments first. */
export async function callTool(
  tool: Tool,
  input: unknown,
  signal?: AbortSignal,
  more: Partial<ToolContext> = {},
): Promise<string> {
  if (tool.execute === undefined) throw new Error(`${tool.name} waits for an answer from outside`);
  const context = {
    signal: signal ?? new AbortController().signal,
    sessionId: 'session',
    toolCallId: 'call',
    ...more,
  };
  return await tool.execute(await tool.input.parseAsync(input), context);
}
