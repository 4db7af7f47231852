import type { Tool } from '@trunkline/llm';
import { createSandbox, findIsolation } from '@trunkline/sandbox';
import { errorMessage } from '@trunkline/std';
import { operatorActor } from '../owners.ts';
import { configSchema } from '../setup/config-schema.ts';
import type { ToolDeps } from './tool-module.ts';

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

/** Where the machine has none, programs run without. */
const sandbox = createSandbox({ mode: (await findIsolation()).kind === 'none' ? 'off' : 'auto' });

/** What tools get when nothing is configured and no backend is there, with what a test adds. */
export function toolDeps(given: Partial<ToolDeps> = {}): ToolDeps {
  return {
    options: {},
    config: configSchema.parse({ filesystem: { enabled: false } }),
    env: {},
    stores: {},
    scheduler: undefined,
    actor: () => operatorActor,
    workspace: '',
    sandbox,
    delegates: [],
    skills: { list: [], find: async () => undefined },
    fetch: {},
    ...given,
  };
}
