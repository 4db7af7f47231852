import { execFile } from 'node:child_process';
import { group, text } from '@trunkline/config';
import { defineTool, type Tool } from '@trunkline/llm';
import { clamp, oneLine } from '@trunkline/tools';
import { z } from 'zod';
import { type ApiClient, createApiClient, readJson } from '../api-client.ts';
import { definePlugin, type Plugin } from '../open-plugins.ts';

export const repoPlugin = definePlugin({
  options: group('Code host (GitHub)', {
    repoToken: text({
      env: ['REPO_TOKEN', 'REPO_CLI_TOKEN'],
      secret: true,
      doc: "Token for the agent's code-host plugin.",
    }),
  }),
  create: ({ options, secrets }) =>
    createRepoPlugin({ token: options.repoToken || secrets.repo.token || undefined }),
});

const MAX_TEXT_LENGTH = 20_000;

const repo = z
  .string()
  .regex(/^(?!\.+\/)[\w.-]+\/(?!\.+$)[\w.-]+$/, 'write it as owner/name')
  .describe('As in owner/name.');

const number = z.number().int().positive();

const person = z.object({ login: z.string() }).nullish();

const issue = z.object({
  number: z.number(),
  title: z.string(),
  state: z.string(),
  user: person,
  body: z.string().nullish(),
  html_url: z.string(),
  pull_request: z.unknown().optional(),
});

const pull = issue.extend({
  merged: z.boolean().default(false),
  head: z.object({ ref: z.string() }),
  base: z.object({ ref: z.string() }),
  additions: z.number().default(0),
  deletions: z.number().default(0),
  changed_files: z.number().default(0),
});

export interface RepoPluginOptions {
  /** Without it the login of the command-line tool `gh` is used, else none: public repositories only. */
  token?: string | undefined;
  url?: string;
  /** Asks the command-line tool for its token. */
  ambientToken?: () => Promise<string | undefined>;
}

/** Reads a code host. */
export function createRepoPlugin({
  token,
  url = 'https://api.github.com',
  ambientToken = readCliToken,
}: RepoPluginOptions): Plugin {
  return {
    id: 'repo',
    description: 'Reads pull requests, issues and commits of a code host.',
    missing: () => undefined,
    async open() {
      let found: Promise<string | undefined> | undefined;
      const credentials = async (): Promise<Record<string, string>> => {
        found ??= token === undefined ? ambientToken() : Promise.resolve(token);
        const key = await found;
        return key === undefined ? {} : { authorization: `Bearer ${key}` };
      };
      const headers = async () => ({ accept: 'application/vnd.github+json', ...(await credentials()) });
      const api = createApiClient({ name: 'The code host', url, headers });
      const tools = [getPr(api), getIssue(api), listIssues(api), getCommitDiff(api)];
      return { tools, close: async () => undefined };
    },
  };
}

/** Nothing when the tool is not installed or nobody is logged in. */
function readCliToken(): Promise<string | undefined> {
  return new Promise((resolve) => {
    execFile('gh', ['auth', 'token'], { timeout: 5000 }, (error, stdout) =>
      resolve(error === null ? stdout.trim() || undefined : undefined),
    );
  });
}

function getPr(api: ApiClient): Tool {
  return defineTool({
    name: 'repo_get_pr',
    effects: ['reads'],
    external: true,
    description: 'Reads a pull request.',
    input: z.object({ repo, number }),
    execute: async (input, { signal }) => {
      const found = await readJson(api, `/repos/${input.repo}/pulls/${input.number}`, pull, signal);
      const state = found.merged ? 'merged' : found.state;
      const size = `${found.changed_files} file(s), +${found.additions} -${found.deletions}`;
      return `#${found.number} ${found.title} [${state}] ${found.head.ref} -> ${found.base.ref}, ${size}, by ${found.user?.login ?? 'ghost'}\n${found.html_url}\n${cut(found.body ?? '')}`;
    },
  });
}

function getIssue(api: ApiClient): Tool {
  return defineTool({
    name: 'repo_get_issue',
    effects: ['reads'],
    external: true,
    description: 'Reads an issue.',
    input: z.object({ repo, number }),
    execute: async (input, { signal }) => {
      const found = await readJson(api, `/repos/${input.repo}/issues/${input.number}`, issue, signal);
      return `${line(found)}\n${found.html_url}\n${cut(found.body ?? '')}`;
    },
  });
}

function listIssues(api: ApiClient): Tool {
  return defineTool({
    name: 'repo_list_issues',
    effects: ['reads'],
    external: true,
    description: 'Lists the issues of a repository, without pull requests.',
    input: z.object({
      repo,
      state: z.enum(['open', 'closed', 'all']).default('open'),
      limit: z.number().int().default(20).describe('From 1 to 100.'),
    }),
    execute: async (input, { signal }) => {
      const path = `/repos/${input.repo}/issues?state=${input.state}&per_page=100`;
      const found = await readJson(api, path, z.array(issue), signal);
      const lines = found.filter(({ pull_request }) => pull_request === undefined).map(line);
      return lines.slice(0, clamp(input.limit, 1, 100)).join('\n') || 'No issues.';
    },
  });
}

function getCommitDiff(api: ApiClient): Tool {
  return defineTool({
    name: 'repo_get_commit_diff',
    effects: ['reads'],
    external: true,
    description: 'Reads the changes of a commit.',
    input: z.object({ repo, sha: z.string().regex(/^(?!\.+$)[\w./-]{1,200}$/, 'a commit or branch') }),
    execute: async (input, { signal }) => {
      const path = `/repos/${input.repo}/commits/${encodeURIComponent(input.sha)}`;
      const response = await api(path, { signal, headers: { accept: 'application/vnd.github.diff' } });
      return cut(response.text()) || '(no changes)';
    },
  });
}

function line({ number: id, title, state, user }: z.output<typeof issue>): string {
  return `#${id} ${oneLine(title, 200)} [${state}] by ${user?.login ?? 'ghost'}`;
}

function cut(text: string): string {
  return text.length > MAX_TEXT_LENGTH ? `${text.slice(0, MAX_TEXT_LENGTH)}…[truncated]` : text;
}
