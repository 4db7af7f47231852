import type { AttachedFile } from '@trunkline/llm';
import type { SandboxSettings } from '@trunkline/sandbox';

/** An MCP server: a program that speaks over its standard streams, or an address. */
export interface McpServerConfig {
  name: string;
  /** Without it: `stdio` for a command, `http` (streamable HTTP) for a url. */
  transport?: 'stdio' | 'http' | 'sse' | undefined;
  command?: string | undefined;
  args?: readonly string[] | undefined;
  /** All that the program gets of the environment beside HOME, PATH and the like. */
  env?: Readonly<Record<string, string>> | undefined;
  /** What its program may reach; by default the network, and no files but its own and the system's. */
  sandbox?: SandboxSettings | undefined;
  url?: string | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  /** Limit of one tool call. */
  timeoutMs?: number | undefined;
  /** The operator believes what the server says of its tools: which only read, and which stay within it. */
  trusted?: boolean | undefined;
  /** A client registered by hand, where the server lets none register itself. */
  oauth?: RegisteredClient | undefined;
  /** Lets the server use our model, within these limits. */
  sampling?: SamplingLimits | undefined;
  /** Folders that the server is told to work in. */
  roots?: readonly string[] | undefined;
  /** Addresses of resources whose changes the server reports. */
  subscribe?: readonly string[] | undefined;
}

/** How much a server may use our model. Its presence is the operator's consent. */
export interface SamplingLimits {
  callsPerHour: number;
  /** Tokens of one answer. */
  maxTokens: number;
}

/** A client that the operator registered by hand, for servers that let none register itself. */
export interface RegisteredClient {
  clientId: string;
  clientSecret?: string | undefined;
  scope?: string | undefined;
}

export interface McpTool {
  name: string;
  description: string;
  inputSchema: object;
  readOnly?: boolean;
  destructive?: boolean;
  /** The same call twice has one effect. */
  idempotent?: boolean;
  /** False: its results come from the server itself, not from the world. */
  openWorld?: boolean;
  /** The server runs it as a task alone: the call begins one and comes back for the result. */
  needsTask?: boolean;
}

export interface McpCallResult {
  text: string;
  failed: boolean;
  /** Images, sound and other files; the text names them by their type. */
  files?: readonly AttachedFile[];
}

/** What a server asks a person in the middle of a call. */
export interface McpQuestion {
  message: string;
  /** JSON schema of the answer: an object with fields of simple types. */
  schema: object;
}

/** The reason for whoever may know that the server exists; `stderr` is for the operator. Neither has secrets of the configuration. */
export interface McpServerError extends Error {
  stderr?: string;
  /** The server wants somebody to sign in first. */
  needsSignIn?: boolean;
}
