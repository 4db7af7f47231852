import { generateKeyPairSync } from 'node:crypto';
import {
  FakeGitHub,
  freePort,
  JsonServer,
  type ModelServer,
  startModelServer,
  waitFor,
} from '@trunkline/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { agent } from '../../fixtures/crew.ts';
import { type Observer, observe } from '../../fixtures/observe.ts';
import { type Json, startSwitchboard, type TestSwitchboard } from '../../fixtures/start-switchboard.ts';
import { readVerdict } from './posts.ts';

const secret = 'hook-secret-of-the-test';
const keys = () =>
  generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
  });
const files = {
  'agents/helm.yaml': agent('helm', 'role: general\nskills: [{ name: chat }]'),
  'agents/reviewer.yaml': agent('reviewer', 'role: qa\nskills: [{ name: pr_review }, { name: bug_triage }]'),
  'codehost.yaml':
    'mentionHandle: Trunk-Bot\nskillHints: { pull_request: pr_review, issues: bug_triage, issue_comment: chat }',
  'fleet.yaml': 'codehost: { reviewerBotLogins: [Other-Bot] }',
};

let [github, model, board, seen, hook] = [] as unknown as [
  FakeGitHub,
  ModelServer,
  TestSwitchboard,
  Observer,
  string,
];
const [appKeys, chainKeys] = [keys(), keys()];

beforeAll(async () => {
  github = await FakeGitHub.start({
    token: 'token-of-the-test',
    login: 'trunk-owner',
    apps: {
      7: { publicKey: appKeys.publicKey, slug: 'trunk-app' },
      8: { publicKey: chainKeys.publicKey, slug: 'chain-app' },
    },
  });
  model = await startModelServer({ script: () => 'Verdict: approve\nGood work.' });
  const port = await freePort();
  hook = `http://127.0.0.1:${port}/webhook/codehost`;
  board = await startSwitchboard({
    files,
    env: {
      LLM_GATEWAY_URL: model.url,
      LLM_API_KEY: 'k',
      LLM_MODEL: 'm',
      CODEHOST_TOKEN: 'token-of-the-test',
      CODEHOST_WEBHOOK_SECRET: secret,
      CODEHOST_WEBHOOK_PORT: String(port),
      CODEHOST_API_URL: github.url,
      CODEHOST_APP_ID: '7',
      CODEHOST_APP_PRIVATE_KEY: appKeys.privateKey.replaceAll('\n', '\\n'),
      CHAIN_APP_ID: '8',
      CHAIN_APP_PRIVATE_KEY: chainKeys.privateKey,
      SWITCHBOARD_DELIVERY_RETRY_MS: '10',
      SWITCHBOARD_COOLDOWN_MS_PR_REVIEW: '0',
      SWITCHBOARD_COOLDOWN_MS_BUG_TRIAGE: '0',
    },
  });
  seen = await observe(board);
});
afterAll(async () => {
  seen.close();
  await board.stop();
  await model.stop();
  await github.stop();
});
beforeEach(() => {
  github.posts.length = 0;
  github.reactions.length = 0;
  seen.messages.length = 0;
});

const repository = {
  name: 'rail.way',
  full_name: 'acme/rail.way',
  owner: { login: 'acme' },
  description: 'Trains',
  visibility: 'private',
  default_branch: 'trunk',
};
const sender = { login: 'ada' };
const issue = { number: 5, title: 'It breaks', body: 'Always.', html_url: 'https://x/5' };
const pull = {
  number: 12,
  title: 'Mend it',
  body: 'See inside.',
  html_url: 'https://x/12',
  head: { ref: 'mend', sha: 'abcdef0123' },
  base: { ref: 'main' },
};
const comment = (body: string, more: Json = {}) => ({ id: 77, body, html_url: 'https://x/c77', ...more });
const send = (event: string, payload: Json, more: Json = {}) =>
  github.deliver(hook, event, { repository, sender, ...payload }, { secret, ...more });
const post = () => waitFor(() => github.posts[0]);

describe('webhooks of the code host', () => {
  it('of events that mean nothing here are taken, whatever their shape', async () => {
    const [text, nothing] = [{ comment: 'Looks safe.' }, { comment: { ...comment('x'), path: null } }];
    expect((await send('deployment_review', { action: 'approved', ...text })).status).toBe(200);
    expect((await send('commit_comment', { action: 'created', ...nothing })).status).toBe(200);
    expect((await send('issue_comment', { action: 'created', ...text })).status).toBe(400);
  });

  it('bring a pull request to the reviewer, and the review back under the name of the app [S054] [S055] [S102] [S105] [S114] [S135]', async () => {
    const response = await send('pull_request', { action: 'opened', pull_request: pull });
    expect([response.status, await response.text()]).toEqual([200, 'OK']);
    expect(await post()).toMatchObject({
      kind: 'review',
      repo: 'acme/rail.way',
      number: 12,
      event: 'APPROVE',
      author: 'trunk-app[bot]',
      body: expect.stringMatching(/^Good work\./),
    });
    expect(model.chats().at(-1)?.messages.at(-1)?.content).toMatch(
      /Pull request #12: Mend it[\s\S]*abcdef0123/,
    );
    const inbound = await seen.first('message.inbound.codehost.acme.rail%2Eway.pull_request.12');
    expect(inbound).toMatchObject({
      source: { interface: 'codehost', channelId: 'acme/rail.way#12', userId: 'ada' },
      reply: { topic: 'message.outbound.codehost.acme.rail%2Eway.12.review' },
      payload: {
        skillHint: 'pr_review',
        repo: { owner: 'acme', repo: 'rail.way', number: 12, sha: 'abcdef0123' },
      },
    });
    expect((await seen.first('reviewer.review.submitted')).payload).toMatchObject({
      owner: 'acme',
      repo: 'rail.way',
      prNumber: 12,
      event: 'APPROVE',
      reviewId: expect.any(Number),
    });
    await waitFor(() => github.reactions.length > 0);
    expect(github.reactions[0]).toMatchObject({ on: '/repos/acme/rail.way/issues/12', content: 'eyes' });
    const { body } = await board.call('/api/deliveries?surface=codehost&state=sent');
    expect(body.data.deliveries[0]).toMatchObject({ references: [expect.stringContaining('review-')] });
  });

  it('answer a comment that mentions the handle, in any case of letters [S052] [S104]', async () => {
    await send('issue_comment', { action: 'created', issue, comment: comment('hey @TRUNK-bot, help') });
    expect(await post()).toMatchObject({
      kind: 'comment',
      number: 5,
      body: expect.stringContaining('Good work.'),
    });
    await waitFor(() => github.reactions.some(({ on }) => on === '/repos/acme/rail.way/issues/comments/77'));
  });

  it('triage a new issue, and answer inside the thread of a review', async () => {
    await send('issues', { action: 'opened', issue });
    expect(await post()).toMatchObject({ kind: 'comment', number: 5 });
    github.posts.length = 0;
    const inThread = comment('@trunk-bot why?', { path: 'a.ts', diff_hunk: '@@', in_reply_to_id: 70 });
    await send('pull_request_review_comment', { action: 'created', pull_request: pull, comment: inThread });
    expect(await post()).toMatchObject({ kind: 'reply', number: 12, inReplyTo: 70 });
    expect((await seen.first('review.comment.replied')).payload).toMatchObject({
      commentId: 70,
      author: 'ada',
    });
  });

  it.each([
    ['a comment without a mention', 'issue_comment', { action: 'created', issue, comment: comment('hello') }],
    ['a longer name', 'issue_comment', { action: 'created', issue, comment: comment('@trunk-bot-two hi') }],
    [
      'an address of mail',
      'issue_comment',
      { action: 'created', issue, comment: comment('me@trunk-bot hi') },
    ],
    ['an edited comment', 'issue_comment', { action: 'edited', issue, comment: comment('@trunk-bot hi') }],
    [
      'our own words',
      'issue_comment',
      { action: 'created', issue, comment: comment('@trunk-bot <!-- trunkline -->') },
    ],
    [
      'a bot of ours',
      'issue_comment',
      { action: 'created', issue, comment: comment('@trunk-bot hi'), sender: { login: 'other-bot' } },
    ],
    ['a draft', 'pull_request', { action: 'opened', pull_request: { ...pull, draft: true } }],
    ['a ping', 'ping', { zen: 'x' }],
  ])('leave alone %s', async (name, event, payload) => {
    expect((await send(event, payload)).status).toBe(200);
    const release = { tag_name: `after ${name}`, html_url: 'https://x' };
    await send('release', { action: 'published', release });
    await seen.first('release.published');
    expect(seen.messages.filter(({ topic }) => topic.startsWith('message.inbound'))).toEqual([]);
  });

  it('bring what members attach, by the token at the own host alone, and name what strangers do', async () => {
    // The first file loads it, which may take a busy machine longer than the files have.
    await import('@trunkline/documents');
    const stored: Json = { 1: 'The train leaves at 07:42.', 2: 'no' };
    github.server.on('GET /user-attachments/files/:id/:name', ({ headers }, { id = '' }) =>
      headers.authorization === 'Bearer token-of-the-test'
        ? { body: stored[id] }
        : { status: 404, body: 'No' },
    );
    const elsewhere = new JsonServer();
    await elsewhere.listen();
    onTestFinished(() => elsewhere.stop());
    const attached = (id: string, host = github) => `${host.url}/user-attachments/files/${id}/plan.txt`;
    const body = `@trunk-bot see [plan.txt](${attached('1')}) and <img src="${attached('2', elsewhere as never)}">`;
    const asked = (author_association: string) =>
      send('issue_comment', { action: 'created', issue, comment: comment(body, { author_association }) });
    await asked('MEMBER');
    const { payload } = await waitFor(() => seen.messages.find((each) => each.payload.files));
    expect(payload.files).toMatchObject([{ name: 'plan.txt', mediaType: 'text/plain', size: 26 }]);
    await post();
    expect(JSON.stringify(model.chats().at(-1)?.messages)).toContain('07:42');
    expect(elsewhere.requests).toEqual([]);
    await board.call('/publish', {
      topic: 'message.outbound.codehost.acme.rail%2Eway.5',
      payload: { content: 'Here.', files: payload.files },
    });
    const answer = await waitFor(() => github.posts.find((each) => each.body.startsWith('Here.')));
    expect(answer.body).toMatch(
      /^Here\.\n\n\(Not attached, as GitHub takes no files from programs: plan\.txt\.\)/,
    );
    seen.messages.length = 0;
    await asked('NONE');
    const stranger = await seen.first('message.inbound.codehost.acme.rail%2Eway.issue_comment.5');
    expect(stranger.payload.content).toMatch(/\[Not read: plan\.txt\. Files are taken from owners, members/);
    expect(stranger.payload).not.toHaveProperty('files');
  });

  it('tell of releases, merges and verdicts set aside [S136] [S137]', async () => {
    const release = { tag_name: 'v2', name: 'Two', body: 'Notes', html_url: 'https://x/v2' };
    await send('release', { action: 'published', release });
    expect((await seen.first('release.published')).payload).toEqual({
      owner: 'acme',
      repo: 'rail.way',
      tag: 'v2',
      name: 'Two',
      notes: 'Notes',
      url: 'https://x/v2',
      prerelease: false,
    });
    await send('pull_request', { action: 'closed', pull_request: { ...pull, merged: true } });
    expect((await seen.first('review.pr.merged')).payload).toMatchObject({ prNumber: 12, mergedBy: 'ada' });
    const review = { id: 3, state: 'dismissed', html_url: 'https://x', user: { login: 'Other-Bot' } };
    await send('pull_request_review', { action: 'dismissed', pull_request: pull, review });
    expect((await seen.first('review.verdict.dismissed')).payload).toMatchObject({
      reviewId: 3,
      dismissedBy: 'ada',
    });
  });

  it('are taken once, however often they are sent [S099]', async () => {
    const payload = { action: 'created', issue, comment: comment('@trunk-bot once') };
    for (let time = 0; time < 3; time += 1)
      expect((await send('issue_comment', payload, { id: 'same' })).status).toBe(200);
    await post();
    await send('issue_comment', { action: 'created', issue, comment: comment('@trunk-bot last') });
    await waitFor(() => github.posts.length >= 2);
    expect(seen.messages.filter(({ topic }) => topic.startsWith('message.inbound'))).toHaveLength(2);
  });

  it('are refused when the signature, the body or the size is wrong [S053]', async () => {
    const payload = { action: 'opened', issue, repository };
    const status = async (body: unknown, more: Json) =>
      (await github.deliver(hook, 'issues', body, more)).status;
    expect(await status(payload, { secret: 'another' })).toBe(401);
    expect(await status(payload, {})).toBe(401);
    expect(await status(payload, { signature: 'sha256=zz' })).toBe(401);
    expect(await status('{"half', { secret })).toBe(400);
    expect(await status({ repository: 'a name' }, { secret })).toBe(400);
    expect(await status('x'.repeat(25 * 1024 * 1024 + 1), { secret })).toBe(413);
    expect(await status({ action: 'labeled', repository }, { secret })).toBe(200);
  });

  it('come in at the other path, at the main port, and as a form', async () => {
    const payload = {
      repository,
      sender,
      action: 'published',
      release: { tag_name: 'v3', html_url: 'https://x' },
    };
    expect((await github.deliver(hook.replace('codehost', 'github'), 'ping', {}, { secret })).status).toBe(
      200,
    );
    expect((await github.deliver(`${board.url}/webhook/codehost`, 'ping', {}, { secret })).status).toBe(200);
    const form = new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
    const { createHmac } = await import('node:crypto');
    const headers = {
      'content-type': 'application/x-www-form-urlencoded',
      'x-github-event': 'release',
      'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(form).digest('hex')}`,
    };
    for (const url of [hook, `${board.url}/webhook/codehost`])
      expect((await fetch(url, { method: 'POST', body: form, headers })).status).toBe(200);
    expect((await seen.first('release.published')).payload.tag).toBe('v3');
  });
});

describe('what goes out', () => {
  const outbound = (payload: Json, topic = 'message.outbound.codehost.acme.rail%2Eway.5') =>
    board.call('/publish', { topic, payload });
  const failed = async (id: string) =>
    waitFor(async () => {
      const { body } = await board.call('/api/deliveries?state=failed');
      return body.data.deliveries.find((delivery: Json) => delivery.id === id);
    });

  it('is written under the name of the app of chained answers [S051]', async () => {
    await outbound({ content: 'and one more thing', chained: true });
    expect(await post()).toMatchObject({
      author: 'chain-app[bot]',
      body: expect.stringContaining('one more'),
    });
  });

  it('waits out limits and failures of the other side, and is written once', async () => {
    github.server.fail('issues/5/comments', { status: 429, headers: { 'retry-after': '0' }, body: {} });
    github.server.fail('issues/5/comments', { status: 502, body: {} });
    github.server.fail('issues/5/comments', 'cut');
    await outbound({ content: 'patience' });
    expect(await post()).toMatchObject({ body: expect.stringContaining('patience') });
    expect(github.posts).toHaveLength(1);
  });

  it('fails in words when it is refused, and can be replayed', async () => {
    github.server.fail('issues/5/comments', { status: 403, body: { message: 'Resource not accessible' } });
    const { body } = await outbound({ content: 'refused' });
    expect((await failed(body.id)).error).toContain('403: Resource not accessible');
    expect((await board.call(`/api/deliveries/${body.id}/replay`, {})).status).toBe(202);
    await post();
    expect((await board.call('/api/deliveries/unknown/replay', {})).status).toBe(404);
  });

  it('is refused where the topic is no address', async () => {
    const { body } = await outbound({ content: 'x' }, 'message.outbound.codehost.acme');
    expect((await failed(body.id)).error).toContain('is no place on the code host');
  });

  it('cuts what is too long at the ends of lines', async () => {
    await outbound({ content: Array.from({ length: 1500 }, () => 'x'.repeat(99)).join('\n') });
    await waitFor(() => github.posts.length === 3);
    expect(
      github.posts.every(({ body }) => /^(?:x{99}\n)+\n<!-- trunkline [0-9a-f]{20} -->$/.test(body)),
    ).toBe(true);
  });
});

describe('without what it needs', () => {
  it('stays off without a token, and says how to switch it on', async () => {
    const plain = await startSwitchboard();
    const { body } = await plain.call('/api/plugins');
    expect(body.data).toContainEqual({
      name: 'codehost',
      title: 'GitHub',
      kind: 'surface',
      state: 'off',
      words: 'Set CODEHOST_TOKEN to switch it on.',
    });
    await plain.stop();
  });

  it('refuses webhooks while there is no secret, unless told otherwise', async () => {
    const env = {
      CODEHOST_TOKEN: 'token-of-the-test',
      CODEHOST_WEBHOOK_PORT: '0',
      CODEHOST_API_URL: github.url,
    };
    const strict = await startSwitchboard({ env });
    const refused = await github.deliver(`${strict.url}/webhook/codehost`, 'ping', {});
    expect([refused.status, await refused.text()]).toEqual([
      401,
      expect.stringContaining('CODEHOST_WEBHOOK_SECRET'),
    ]);
    await strict.stop();
    const open = await startSwitchboard({ env: { ...env, SWITCHBOARD_ALLOW_UNSIGNED: '1' } });
    expect((await github.deliver(`${open.url}/webhook/codehost`, 'ping', {})).status).toBe(200);
    await open.stop();
  });
});

describe('the verdict of a review', () => {
  it.each([
    ['Verdict: approve\nFine.', 'APPROVE', 'Fine.'],
    ['**Verdict:** Request changes\n\nMend a.ts.', 'REQUEST_CHANGES', 'Mend a.ts.'],
    ['verdict: approve', 'APPROVE', 'verdict: approve'],
    ['I would approve this.', 'COMMENT', 'I would approve this.'],
    ['Verdict: unsure\nHm.', 'COMMENT', 'Verdict: unsure\nHm.'],
  ])('%j', (content, event, body) => expect(readVerdict(content)).toEqual({ event, body }));

  it('is looked for in little time in an answer of spaces', () => {
    const content = `Verdict: approve${' '.repeat(60_000)}#1`;
    expect(readVerdict(content)).toEqual({ event: 'COMMENT', body: content });
  });
});
