import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import {
  type ClientCapabilities,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ErrorCode,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  McpError,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { errorMessage } from '@trunkline/std';
import { contentOf, MAX_FILES, type McpContent } from './content.ts';
import type { RunningCalls } from './running-calls.ts';
import type { McpServerConfig, SamplingLimits } from './types.ts';

/** A completion that a server asks for. It holds the server's own text alone, nothing of our conversations. */
export interface SamplingRequest {
  server: string;
  systemPrompt: string | undefined;
  messages: readonly ({ role: 'user' | 'assistant' } & McpContent)[];
  maxTokens: number;
  signal: AbortSignal;
}

interface SamplingAnswer {
  text: string;
  model: string;
  stopReason?: 'endTurn' | 'maxTokens';
}

export type Sample = (request: SamplingRequest) => Promise<SamplingAnswer>;

export interface ServerRequestOptions {
  server: Pick<McpServerConfig, 'name' | 'sampling' | 'roots' | 'subscribe'>;
  calls: RunningCalls;
  /** Sampling is offered to servers that have limits for it, if this is given. */
  sample: Sample | undefined;
  /** When the server used our model, the newest last. It outlives the connection, so that a new one has no new limit. */
  sampledAt: number[];
  onLog: ((entry: McpLogEntry) => void) | undefined;
  onResourceUpdated: ((uri: string) => void) | undefined;
}

/** A line of a server's log. The text comes from outside. */
export interface McpLogEntry {
  level: string;
  text: string;
}

const MAX_LOG_TEXT = 1000;
const MAX_SAMPLING_TEXT = 100_000;
const HOUR_MS = 3_600_000;

/** What we offer to a server. Roots only where the operator lists them: some servers drop their own folders for ours. */
export function capabilitiesFor({ server, sample }: ServerRequestOptions): ClientCapabilities {
  return {
    elicitation: { form: {} },
    ...(sample !== undefined && server.sampling !== undefined && { sampling: {} }),
    ...(server.roots !== undefined && { roots: {} }),
  };
}

/** Answers what a server asks of us, and takes its notifications. */
export function handleServerRequests(client: Client, options: ServerRequestOptions): void {
  const { server, calls, onLog, onResourceUpdated } = options;
  client.setRequestHandler(ElicitRequestSchema, async ({ params }, { signal }) => {
    if (!('requestedSchema' in params)) throw new McpError(ErrorCode.InvalidParams, 'Only forms are offered');
    return await calls.ask({ message: params.message, schema: params.requestedSchema }, signal);
  });
  if (server.roots !== undefined) {
    const roots = server.roots.map((path) => ({ uri: pathToFileURL(path).href, name: basename(path) }));
    client.setRequestHandler(ListRootsRequestSchema, () => ({ roots }));
  }
  if (options.sample !== undefined && server.sampling !== undefined)
    handleSampling(client, server.sampling, { ...options, sample: options.sample });
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params: { level, data } }) => {
    const text = typeof data === 'string' ? data : (JSON.stringify(data) ?? '');
    onLog?.({ level, text: text.slice(0, MAX_LOG_TEXT) });
  });
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params: { uri } }) => {
    // It may name a part of what we subscribed to; of anything else we did not ask to hear.
    const known = server.subscribe?.find((each) => uri === each || uri.startsWith(each.replace(/\/?$/, '/')));
    if (known !== undefined) onResourceUpdated?.(known);
  });
}

function handleSampling(
  client: Client,
  limits: SamplingLimits,
  { server: { name: server }, sample, sampledAt }: ServerRequestOptions & { sample: Sample },
): void {
  client.setRequestHandler(CreateMessageRequestSchema, async ({ params }, { signal }) => {
    const since = Date.now() - HOUR_MS;
    sampledAt.splice(0, sampledAt.filter((at) => at <= since).length);
    if (sampledAt.length >= limits.callsPerHour)
      throw refused(`${server} has used its ${limits.callsPerHour} model calls of this hour`);
    const messages = params.messages.map(({ role, content }) => ({ role, ...contentOf({ content }) }));
    if (messages.flatMap(({ files }) => files).length > MAX_FILES)
      throw refused(`the request has more than ${MAX_FILES} files`);
    const size = messages.reduce((sum, { text }) => sum + text.length, params.systemPrompt?.length ?? 0);
    if (size > MAX_SAMPLING_TEXT) throw refused(`the request is longer than ${MAX_SAMPLING_TEXT} characters`);
    sampledAt.push(Date.now());
    try {
      const maxTokens = Math.min(params.maxTokens, limits.maxTokens);
      const { systemPrompt } = params;
      const answer = await sample({ server, systemPrompt, messages, maxTokens, signal });
      const { text, model, stopReason = 'endTurn' } = answer;
      return { role: 'assistant' as const, content: { type: 'text' as const, text }, model, stopReason };
    } catch (error) {
      throw refused(errorMessage(error));
    }
  });
}

function refused(reason: string): McpError {
  return new McpError(ErrorCode.InvalidRequest, `Sampling was refused: ${reason}`);
}
