import { createHmac } from 'node:crypto';
import { FakeGitHub, FakeLinear, waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keyOf, type Locked, sideUrls, startLocked } from './security.suite.ts';

const secret = 'secret-of-the-webhooks';
let [github, linear, locked, codehost, tracker] = [] as unknown as [
  FakeGitHub,
  FakeLinear,
  Locked,
  string,
  string,
];

beforeAll(async () => {
  github = await FakeGitHub.start({ token: 'token', login: 'owner', apps: {} });
  linear = await FakeLinear.start({ apiKey: 'key' });
  locked = await startLocked({
    files: {
      'switchboard/workspace/agents/helm.yaml':
        'name: helm\nrole: general\nsystemPrompt: You help.\nskills: [{ name: chat }]',
      'switchboard/workspace/codehost.yaml': 'mentionHandle: bot\nskillHints: { issue_comment: chat }',
    },
    env: {
      CODEHOST_TOKEN: 'token',
      CODEHOST_WEBHOOK_SECRET: secret,
      CODEHOST_API_URL: github.url,
      TRACKER_API_KEY: 'key',
      TRACKER_WEBHOOK_SECRET: secret,
      TRACKER_API_URL: linear.url,
    },
  });
  await findPorts();
});

async function findPorts(): Promise<void> {
  [codehost, tracker] = await Promise.all([sideUrls(locked, 'codehost'), sideUrls(locked, 'tracker')]);
}
afterAll(async () => {
  await locked.stop();
  await Promise.all([github.stop(), linear.stop()]);
});

/** Messages from outside that hold the word. */
async function taken(word: string): Promise<unknown[]> {
  const response = await fetch(
    `${locked.target('switchboard').url}/api/bus/history?topic=message.inbound.%23&limit=200`,
    {
      headers: keyOf('switchboard', '/api'),
    },
  );
  const { data } = (await response.json()) as { data: { messages: { message: { topic: string } }[] } };
  return data.messages.filter((each) => JSON.stringify(each).includes(word));
}

const comment = (word: string) => ({
  action: 'created',
  issue: { number: 5, title: 'It breaks', body: 'Always.', html_url: 'https://x/5' },
  comment: { id: 77, body: `@bot ${word}`, html_url: 'https://x/c77' },
  repository: { name: 'r', full_name: 'a/r', owner: { login: 'a' }, default_branch: 'main' },
  sender: { login: 'ada' },
});
const issue = (id: string, at = Date.now()) => ({
  type: 'Issue',
  action: 'create',
  data: { id, identifier: 'ENG-5', title: `Issue ${id}`, team: { id: 'team-1', key: 'ENG' } },
  webhookTimestamp: at,
});

describe('a webhook of the code host that comes again', () => {
  it('is taken once, under its own id and under new ones', async () => {
    for (const id of ['one', 'one', 'two', 'three'])
      expect(
        (await github.deliver(codehost, 'issue_comment', comment('v-again'), { secret, id })).status,
      ).toBe(200);
    await github.deliver(codehost, 'issue_comment', comment('v-last'), { secret });
    await waitFor(async () => (await taken('v-last')).length === 1);
    expect(await taken('v-again')).toHaveLength(1);
  });

  it('is refused with another body, another secret or no signature', async () => {
    const stolen = await signatureOf(() => github.deliver(codehost, 'ping', { zen: 'x' }, { secret }));
    const attempts = [
      { signature: stolen },
      { secret: 'other' },
      {},
      { signature: 'sha256=' },
      { signature: 'sha1=00' },
    ];
    for (const attempt of attempts) {
      const { status } = await github.deliver(codehost, 'issue_comment', comment('v-forged'), attempt);
      expect({ attempt, status }).toEqual({ attempt, status: 401 });
    }
    expect(await taken('v-forged')).toEqual([]);
  });
});

describe('a webhook of the tracker that comes again', () => {
  it('is taken once, under its own id and under new ones', async () => {
    const body = issue('issue-again');
    for (const id of ['one', 'one', 'two', 'three'])
      expect((await linear.deliver(tracker, body, { secret, id })).status).toBe(200);
    expect(
      (await linear.deliver(tracker, issue('issue-again', Date.now() + 5), { secret, id: 'one' })).status,
    ).toBe(200);
    await linear.deliver(tracker, issue('issue-last'), { secret });
    await waitFor(async () => (await taken('issue-last')).length > 0);
    expect(await taken('issue-again')).toHaveLength(1);
  });

  it.each([
    ['old', -6 * 60_000],
    ['from the future', 6 * 60_000],
  ])('is refused when it is %s, though its signature fits', async (_, shift) => {
    const answer = await linear.deliver(tracker, issue('issue-old', Date.now() + shift), { secret });
    expect(answer.status).toBe(400);
    expect(await taken('issue-old')).toEqual([]);
  });

  it('is refused with another secret or no signature', async () => {
    for (const attempt of [{ secret: 'other' }, {}, { signature: 'zz' }])
      expect((await linear.deliver(tracker, issue('issue-forged'), attempt)).status).toBe(401);
  });
});

it('webhooks that come again after a restart, or at the other port, are taken once', async () => {
  const body = issue('issue-restarted');
  const ports = () => [tracker, `${locked.target('switchboard').url}/webhooks/tracker`];
  for (const url of ports()) expect((await linear.deliver(url, body, { secret })).status).toBe(200);
  await github.deliver(codehost, 'issue_comment', comment('v-restarted'), { secret });
  await waitFor(async () => (await taken('v-restarted')).length === 1);
  await locked.restart();
  await findPorts();
  for (const url of ports()) expect((await linear.deliver(url, body, { secret })).status).toBe(200);
  await github.deliver(codehost, 'issue_comment', comment('v-restarted'), { secret });
  await linear.deliver(tracker, issue('issue-after'), { secret });
  await waitFor(async () => (await taken('issue-after')).length > 0);
  expect(await taken('issue-restarted')).toHaveLength(1);
  expect(await taken('v-restarted')).toHaveLength(1);
});

/** The signature that a delivery was sent with, as someone who listens would have it. */
async function signatureOf(deliver: () => Promise<Response>): Promise<string> {
  expect((await deliver()).status).toBe(200);
  return `sha256=${createHmac('sha256', secret)
    .update(JSON.stringify({ zen: 'x' }))
    .digest('hex')}`;
}
