import type { Tool } from '@trunkline/llm';
import { errorMessage } from '@trunkline/std';

/** Calls a tool the way a turn does: its schema reads the arguments first, and what it throws becomes its result. */
export async function callTool(
  tool: Tool,
  input: unknown = {},
  sessionId = 'session',
  signal?: AbortSignal,
): Promise<string> {
  if (tool.execute === undefined) throw new Error(`${tool.name} waits for an answer from outside`);
  const context = { signal: signal ?? new AbortController().signal, sessionId, toolCallId: 'call' };
  const parsed = await tool.input.parseAsync(input);
  try {
    return await tool.execute(parsed, context);
  } catch (error) {
    if (context.signal.aborted) throw error;
    return `Error: ${errorMessage(error)}`;
  }
}
