import type { Principal } from '@trunkline/identity';
import type { AttachedFile, CallSubject, Effect, ToolContext } from '@trunkline/llm';
import type { Decide, DecidedCall, PolicyRequest } from '@trunkline/policy';
import type { z } from 'zod';

export interface ServedToolContext extends ToolContext {
  /** Reports progress to a client that asked for it; `step` only grows. */
  progress(step: number, message: string): Promise<void>;
  /** Asks the person at the client with a form. Left out where the client can show none. */
  ask?(question: ServedQuestion): Promise<ServedAnswer>;
  /** Names the work, so that the tool's `resume` finds it after a restart. Left out where the call is no task of the protocol. */
  setResumeHandle?(handle: string): void;
}

/** A call that goes on after a restart. */
export type ResumedCall = Pick<ServedToolContext, 'progress' | 'signal'> & { principal: Principal };

export interface ServedQuestion {
  message: string;
  /** Fields of simple types: all that the protocol has. */
  schema: { type: 'object'; properties: Record<string, object>; required?: string[] };
}

/** The values; undefined where the person declined or went away. */
export type ServedAnswer = Record<string, unknown> | undefined;

/** Data that clients can list and read. Each caller sees their own. */
export interface ServedResources {
  list(principal: Principal): Promise<ServedResource[]> | ServedResource[];
  /** Undefined where there is none of this address that the caller may read. */
  read(uri: string, principal: Principal): Promise<ResourceText | undefined> | ResourceText | undefined;
}

interface ServedResource {
  uri: string;
  name: string;
  description?: string;
  mimeType?: string;
}

interface ResourceText {
  text: string;
  mimeType: string;
}

export interface ServedResult {
  text: string;
  /** They follow the text: images, audio and embedded resources of the protocol. */
  files?: readonly AttachedFile[];
  failed?: boolean;
  meta?: Record<string, unknown>;
}

/** A tool for MCP clients. Every running tool of an agent is one; a failure starts with `Error:`. */
export interface ServedTool<Input = unknown> {
  name: string;
  description: string;
  input: z.ZodType<Input>;
  effects: readonly Effect[];
  /** What it starts may have effects that policy looks at one by one, so clients must not take it for a read. */
  startsWork?: boolean;
  subject?(input: Input): CallSubject;
  /** Its output comes from outside the operator's trust, such as the web. */
  external?: boolean;
  timeoutMs?: number;
  /** A call goes on when its client's connection breaks, for the result can be found elsewhere. */
  survivesDisconnect?: boolean;
  /** Takes long: clients may call it as a task and come back for the result. */
  isLong?: boolean;
  execute(input: Input, context: ServedToolContext): Promise<string | ServedResult>;
  /** Waits for work that an earlier process began; `handle` is what `setResumeHandle` was given. */
  resume?(handle: string, call: ResumedCall): Promise<ServedResult>;
}

export type McpToolEvent =
  | { type: 'tool-start'; toolCallId: string; name: string; input: unknown }
  | {
      type: 'tool-end';
      toolCallId: string;
      name: string;
      result: string;
      failed: boolean;
      durationMs: number;
    };

export interface McpEndpointOptions {
  name: string;
  version: string;
  instructions?: string;
  /** Asked with each request, so that a change of the configuration counts at once. */
  tools: (principal: Principal) => readonly ServedTool[];
  resources?: ServedResources;
  /** The database of tasks. Without it they end with the process. */
  tasksFile?: string;
  /** Limit of a call, unless the tool has its own. */
  toolTimeoutMs: () => number;
  /** Whose memories tools read and write. */
  scope?: (principal: Principal) => string;
  /** The session that a caller's tools run in; without it all callers share one. */
  sessionId?: (principal: Principal) => string;
  onToolEvent?: (event: McpToolEvent, principal: Principal) => void;
  /** Decides about each call; nobody can be asked, so that what would have to be asked about is refused. */
  policy?:
    | {
        agent: string;
        decide: Decide;
        check?: Decide;
        spend(request: PolicyRequest): string | undefined;
        /** Gets each call that was refused or run, for the audit log. */
        record?(call: DecidedCall): void;
      }
    | undefined;
}
