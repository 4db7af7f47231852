import type { Principal } from '@trunkline/identity';
import type { z } from 'zod';

/** What a running tool knows about the call it serves. */
export interface ToolContext {
  signal: AbortSignal;
  sessionId: string;
  toolCallId: string;
  /** On whose behalf the turn runs; anonymous when not given. */
  principal?: Principal | undefined;
  /** Whose memories the turn may read and write; see the agent's memory scopes. */
  scope?: string | undefined;
}

interface ToolHead<Input> {
  name: string;
  description: string;
  input: z.ZodType<Input>;
}

/** A tool that runs here and answers with a string; a failure starts with `Error:`. */
export interface RunningTool<Input = unknown> extends ToolHead<Input> {
  pause?: false;
  timeoutMs?: number;
  /** It changes nothing anywhere, so that a call may be cancelled at any time and made again. */
  readOnly?: boolean;
  /** Calls with the same key ask for the same thing. Without it, calls with the same arguments do. */
  callKey?(input: Input): string;
  /** Who is named as the source of a result that is announced later; the tool itself if left out. */
  answeredBy?(input: Input): string;
  /** For these inputs the call waits for an answer from outside, as with a pausing tool, and does not run. */
  pausesFor?(input: Input): boolean;
  execute(input: Input, context: ToolContext): Promise<string>;
}

/** A tool whose answer comes from outside: calling it ends the turn until the answer is supplied. */
export interface PausingTool<Input = unknown> extends ToolHead<Input> {
  pause: true;
  execute?: never;
}

export type Tool<Input = unknown> = RunningTool<Input> | PausingTool<Input>;

/** Declares a tool so that the type of its input follows from its schema. */
export function defineTool<Input>(tool: RunningTool<Input>): RunningTool<Input>;
export function defineTool<Input>(tool: PausingTool<Input>): PausingTool<Input>;
export function defineTool<Input>(tool: Tool<Input>): Tool<Input> {
  return tool;
}
