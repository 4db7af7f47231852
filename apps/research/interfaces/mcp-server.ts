import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type { ServerNotification, ServerRequest } from '@modelcontextprotocol/sdk/types.js';
import { HttpError } from '@trunkline/http';
import { z } from 'zod';
import type { SearchAggregator } from '../sources/search-aggregator.ts';
import { CATEGORIES } from '../sources/source.ts';
import { type DeepResearchDeps, failureMessage, researchFor, topicOf } from './deep-research.ts';

export interface McpDeps extends DeepResearchDeps {
  aggregator: SearchAggregator;
  version: string;
}

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

const INSTRUCTIONS =
  'Use search for a quick list of results, and deep_research for a report with checked citations, which takes minutes and tells of its progress.';

/** The tools of the service for one MCP client. */
export function createMcpServer(deps: McpDeps): McpServer {
  const server = new McpServer(
    { name: 'trunkline-research', version: deps.version },
    { instructions: INSTRUCTIONS },
  );
  server.registerTool(
    'search',
    {
      description: "Searches the web, the encyclopedia and the user's files; gives a JSON list of results.",
      inputSchema: {
        query: z.string().min(1).max(2000),
        categories: z.enum(CATEGORIES).optional(),
        limit: z.number().int().min(1).max(20).default(8),
      },
      annotations: { readOnlyHint: true, openWorldHint: true },
    },
    ({ query, categories, limit }, { signal }) => search(deps, { text: query, categories, limit }, signal),
  );
  server.registerTool(
    'deep_research',
    {
      description:
        'Researches a topic in minutes and gives a report in Markdown; each citation was checked against the page it cites.',
      inputSchema: { topic: z.string().min(2).max(2000) },
      annotations: { readOnlyHint: true, openWorldHint: true },
    },
    ({ topic }, extra) => deepResearch(deps, topic, extra),
  );
  return server;
}

type Query = Parameters<SearchAggregator['search']>[0];

async function search({ aggregator }: McpDeps, query: Query, signal: AbortSignal) {
  const { results, troubles } = await aggregator.search(query, ['web', 'encyclopedia', 'files'], signal);
  if (results.length === 0 && troubles.length > 0) return failure(troubles.join(' '));
  const shown = results
    .slice(0, query.limit)
    .map(({ title, url, snippet, publishedDate }) => ({ title, url, snippet, publishedDate }));
  return words(JSON.stringify(shown, null, 2));
}

async function deepResearch(deps: McpDeps, topic: string, extra: Extra) {
  try {
    for await (const event of researchFor(deps, topicOf(topic), extra.signal)) {
      if (event.type === 'progress') await tell(extra, event.step, event.words);
      if (event.type !== 'end') continue;
      const { id, report, citations } = event.job;
      const failed = failureMessage(event.job);
      if (failed !== undefined) return failure(failed);
      return { ...words(report ?? ''), _meta: { researchId: id, citations } };
    }
    return failure('The research ended without a report.');
  } catch (error) {
    if (error instanceof HttpError) return failure(error.message);
    throw error;
  }
}

/** To clients that asked for progress by a token. */
async function tell({ _meta, sendNotification }: Extra, progress: number, message: string): Promise<void> {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return;
  await sendNotification({ method: 'notifications/progress', params: { progressToken, progress, message } });
}

function words(text: string) {
  return { content: [{ type: 'text' as const, text }] };
}

function failure(text: string) {
  return { ...words(text), isError: true };
}
