import type { Tool } from '@trunkline/llm';

type LogMethod = (fields: object, message: string) => void;

/** A message that came to the agent through a plugin; the answer goes back the same way. */
export type Inbound = (message: {
  text: string;
  source: string;
  contextId: string;
  /** Who wrote it, by the platform's own id. */
  author: string;
}) => Promise<string>;

/** What a plugin may use of the service. */
export interface PluginContext {
  logger: { info: LogMethod; warn: LogMethod; error: LogMethod };
  /** Runs a turn for a message from outside; plugins that only offer tools do not need it. */
  inbound?: Inbound | undefined;
}

export interface OpenPlugin {
  tools: Tool[];
  /** What is denied to it and yet not enforced on this system. */
  unenforced?: readonly string[];
  close(): Promise<void>;
}

/** One capability that is off until it is enabled by its id. */
export interface Plugin {
  id: string;
  description: string;
  /** What must be set before it can work, naming the variable; undefined when nothing is missing. */
  missing(): string | undefined;
  open(context: PluginContext): Promise<OpenPlugin>;
}
