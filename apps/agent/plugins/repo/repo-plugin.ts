import { execFile } from 'node:child_process';
import { createApiClient } from '../api-client.ts';
import type { Plugin } from '../plugin.ts';
import { repoTools } from './repo-tools.ts';

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
      return {
        tools: repoTools(createApiClient({ name: 'The code host', url, headers })),
        close: async () => undefined,
      };
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
