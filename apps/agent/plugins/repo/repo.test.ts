import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Answer, type Asked, startAnswering } from '../../tools/answering-server.suite.ts';
import { callTool } from '../../tools/call-tool.suite.ts';
import { openPlugins } from '../open-plugins.ts';
import { createRepoPlugin, type RepoPluginOptions } from './repo-plugin.ts';

const silent = () => undefined;
const context = { logger: { info: silent, warn: silent, error: silent } };
let stop = () => undefined as unknown;
afterEach(() => stop());

const issue = {
  number: 7,
  title: 'It breaks',
  state: 'open',
  user: { login: 'ada' },
  body: 'long story',
  html_url: 'https://x/7',
};
const pull = {
  ...issue,
  number: 8,
  title: 'Mend it',
  merged: true,
  head: { ref: 'fix' },
  base: { ref: 'main' },
  additions: 3,
  deletions: 1,
  changed_files: 2,
};
const answers: Record<string, Answer> = {
  '/repos/a/b/pulls/8': { body: pull },
  '/repos/a/b/issues/7': { body: issue },
  '/repos/a/b/issues?state=open&per_page=100': { body: [issue, { ...pull, pull_request: {} }] },
  '/repos/a/b/issues?state=all&per_page=100': { body: [] },
  '/repos/a/b/commits/abc': { body: 'diff --git a b' },
  '/repos/a/b/issues/403': { status: 403, body: { message: 'Resource not accessible' } },
  '/repos/a/b/issues/429': { status: 429, headers: { 'retry-after': '30' }, body: {} },
};

async function setup(options: RepoPluginOptions) {
  const server = await startAnswering(
    ({ path }: Asked) => answers[path] ?? { status: 404, body: { message: 'Not Found' } },
  );
  stop = server.stop;
  const { tools } = await openPlugins(
    [createRepoPlugin({ url: server.url, ...options })],
    { enabled: ['repo'], disabled: [] },
    context,
  );
  const call = (name: string, input: object) =>
    callTool(tools.find((tool) => tool.name === name)!, { repo: 'a/b', ...input });
  return { call, tools, asked: server.asked };
}

describe('the code host', () => {
  it('is read with the token [A070] [A091]', async () => {
    const { call, asked } = await setup({ token: 'tok' });
    expect(await call('repo_get_pr', { number: 8 })).toBe(
      '#8 Mend it [merged] fix -> main, 2 file(s), +3 -1, by ada\nhttps://x/7\nlong story',
    );
    expect(await call('repo_get_issue', { number: 7 })).toBe(
      '#7 It breaks [open] by ada\nhttps://x/7\nlong story',
    );
    expect(await call('repo_list_issues', {})).toBe('#7 It breaks [open] by ada');
    expect(await call('repo_list_issues', { state: 'all' })).toBe('No issues.');
    expect(await call('repo_get_commit_diff', { sha: 'abc' })).toBe('diff --git a b');
    expect(asked.at(-1)!.headers).toMatchObject({
      accept: 'application/vnd.github.diff',
      authorization: 'Bearer tok',
    });
  });

  it("uses the command-line tool's login, or none [A070]", async () => {
    const withLogin = await setup({ ambientToken: async () => 'ambient' });
    await withLogin.call('repo_get_issue', { number: 7 });
    expect(withLogin.asked[0]!.headers.authorization).toBe('Bearer ambient');
    stop();
    const without = await setup({ ambientToken: async () => undefined });
    await without.call('repo_get_issue', { number: 7 });
    expect(without.asked[0]!.headers.authorization).toBeUndefined();
  });

  it('says what went wrong', async () => {
    const { call } = await setup({ token: 'tok' });
    expect(await call('repo_get_issue', { number: 1 })).toBe(
      'Error: The code host knows nothing of the kind (Not Found).',
    );
    expect(await call('repo_get_issue', { number: 403 })).toMatch(
      /^Error: The code host refuses the credentials/,
    );
    expect(await call('repo_get_issue', { number: 429 })).toBe(
      'Error: The code host limits the rate: retry_after 30',
    );
  });

  it.each(['b', 'a/b/c', '../x', 'a/b?x=1', ''])('needs a repository, not "%s" [A091]', async (repo) => {
    const { call } = await setup({ token: 'tok' });
    await expect(call('repo_get_issue', { repo, number: 1 })).rejects.toThrow(z.ZodError);
  });
});
