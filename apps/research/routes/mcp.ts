import type { AppEnv } from '@trunkline/http';
import { anonymous, maySee, ownerKey } from '@trunkline/identity';
import {
  defineServedTool,
  mountMcpEndpoint,
  type ServedResources,
  type ServedResult,
  type ServedToolContext,
} from '@trunkline/mcp';
import type { Policy } from '@trunkline/policy';
import type { Hono } from 'hono';
import { z } from 'zod';
import { SOURCE_KINDS } from '../api-types.ts';
import { markCalls } from '../citations/calls.ts';
import {
  type DeepEvent,
  type DeepResearchDeps,
  failureMessage,
  followFor,
  researchFor,
  topicOf,
} from '../interfaces/deep-research.ts';
import type { SearchAggregator } from '../sources/search-aggregator.ts';
import { CATEGORIES } from '../sources/source.ts';

export interface McpDeps extends DeepResearchDeps {
  aggregator: SearchAggregator;
  version: string;
  policy: ReturnType<Policy['for']>;
  /** The database of tasks that MCP clients began. */
  mcpTasksFile: string;
  /** Ends the sessions of clients. */
  closing: AsyncDisposableStack;
}

const INSTRUCTIONS =
  'Use search for a quick list of results, and deep_research for a report with checked citations, which takes minutes and reports its progress. Finished reports are resources.';
const SEARCH_MS = 60_000;
/** Beyond what the budget of a job allows. */
const RESEARCH_MS = 6 * 3_600_000;

/** The MCP server at `/mcp`. */
export function mountMcp(app: Hono<AppEnv>, deps: McpDeps): void {
  const tools = [searchTool(deps), deepResearchTool(deps)];
  const close = mountMcpEndpoint(app, {
    summary: 'The tools search and deep_research for MCP clients (streamable HTTP)',
    name: 'trunkline-research',
    version: deps.version,
    instructions: INSTRUCTIONS,
    tools: () => tools,
    resources: reportResources(deps),
    tasksFile: deps.mcpTasksFile,
    toolTimeoutMs: () => SEARCH_MS,
    policy: deps.policy,
  });
  deps.closing.defer(close);
}

const REPORT = 'report://';
const MAX_REPORTS = 100;
const NAME_LENGTH = 100;

/** The reports of the library, to each caller their own. */
function reportResources({ jobs }: McpDeps): ServedResources {
  return {
    list: (principal) =>
      jobs
        .find('', MAX_REPORTS, principal)
        .filter(({ report }) => report !== null)
        .map(({ id, query }) => ({
          uri: `${REPORT}${id}`,
          name: `Report: ${query.slice(0, NAME_LENGTH)}`,
          mimeType: 'text/markdown',
        })),
    read(uri, principal) {
      const job = uri.startsWith(REPORT) ? jobs.get(uri.slice(REPORT.length)) : undefined;
      if (job === undefined || job.report === null || !maySee(principal, job.owner)) return undefined;
      return { text: job.report, mimeType: 'text/markdown' };
    },
  };
}

function searchTool({ aggregator }: McpDeps) {
  return defineServedTool({
    name: 'search',
    description:
      "Searches the web, the encyclopedia and the user's files; gives a JSON list of results in the words of their pages, which nobody checked. Sentences that address their reader are marked.",
    input: z.object({
      query: z.string().min(1).max(2000),
      categories: z.enum(CATEGORIES).optional(),
      limit: z.number().int().min(1).max(20).default(8),
    }),
    effects: ['reads'],
    external: true,
    async execute({ query, categories, limit }, { signal, principal = anonymous }): Promise<ServedResult> {
      const request = { text: query, categories, limit, owner: ownerKey(principal) };
      const { results, troubles } = await aggregator.search(request, SOURCE_KINDS, signal);
      if (results.length === 0 && troubles.length > 0) return { text: troubles.join(' '), failed: true };
      const shown = results.slice(0, limit).map(({ title, url, snippet, publishedDate }) => ({
        title,
        url,
        snippet: markCalls(snippet),
        publishedDate,
      }));
      return { text: JSON.stringify(shown, null, 2) };
    },
  });
}

function deepResearchTool(deps: McpDeps) {
  return defineServedTool({
    name: 'deep_research',
    description:
      'Researches a topic in minutes and gives a report in Markdown; each citation was checked against the page it cites.',
    input: z.object({ topic: z.string().min(2).max(2000) }),
    effects: ['reads', 'spends'],
    external: true,
    timeoutMs: RESEARCH_MS,
    // The report stands in the library.
    survivesDisconnect: true,
    isLong: true,
    async execute({ topic }, context): Promise<ServedResult> {
      const { signal, principal = anonymous } = context;
      return await reportOf(researchFor(deps, { query: topicOf(topic), principal }, signal), context);
    },
    // A job goes on by itself after a restart.
    resume: (handle, call) => reportOf(followFor(deps, handle, call.signal), call),
  });
}

type ReportContext = Pick<ServedToolContext, 'progress' | 'setResumeHandle'>;

async function reportOf(
  events: AsyncIterable<DeepEvent>,
  { progress, setResumeHandle }: ReportContext,
): Promise<ServedResult> {
  for await (const event of events) {
    if (event.type === 'start') setResumeHandle?.(event.researchId);
    if (event.type === 'progress') await progress(event.step, event.words);
    if (event.type !== 'end') continue;
    const { id, report, citations } = event.job;
    const failed = failureMessage(event.job);
    if (failed !== undefined) return { text: failed, failed: true };
    return { text: report ?? '', meta: { researchId: id, citations } };
  }
  return { text: 'The research ended without a report.', failed: true };
}
