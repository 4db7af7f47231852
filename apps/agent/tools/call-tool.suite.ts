import type { Tool } from '@trunkline/llm';

/** Calls a tool the way a turn does: its schema reads the arguments first. */
export async function callTool(
  tool: Tool,
  input: unknown = {},
  sessionId = 'session',
  signal?: AbortSignal,
): Promise<string> {
  if (tool.execute === undefined) throw new Error(`${tool.name} waits for an answer from outside`);
  const context = { signal: signal ?? new AbortController().signal, sessionId, toolCallId: 'call' };
  return await tool.execute(await tool.input.parseAsync(input), context);
}
