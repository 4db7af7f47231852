import {
  FakeGitHub,
  FakeLinear,
  type NatsServer,
  natsMissing,
  startNatsServer,
  waitFor,
} from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agent } from '../fixtures/crew.ts';
import { type Observer, observe } from '../fixtures/observe.ts';
import { startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';

const secret = 'hook-secret-of-the-test';
const release = (tag: string) => ({
  action: 'published',
  release: { tag_name: tag, name: tag, body: 'Notes', html_url: 'https://x/r', prerelease: false },
  repository: { name: 'r', full_name: 'acme/r', owner: { login: 'acme' }, default_branch: 'main' },
  sender: { login: 'ada' },
});
const issue = (id: string, at = Date.now()) => ({
  type: 'Issue',
  action: 'create',
  data: { id, identifier: 'ENG-5', title: `Issue ${id}`, team: { id: 'team-1', key: 'ENG' } },
  webhookTimestamp: at,
});

/** Two switchboards with homes of their own on one NATS server; either may get a webhook that the other had before. */
describe.skipIf(natsMissing !== undefined)('webhooks that come again at another switchboard', () => {
  let [nats, github, linear, seen] = [] as unknown as [NatsServer, FakeGitHub, FakeLinear, Observer];
  let boards: [TestSwitchboard, TestSwitchboard];
  const start = (home?: string, more: Record<string, string> = {}) =>
    startSwitchboard({
      ...(home === undefined
        ? { files: { 'agents/helm.yaml': agent('helm', 'role: general\nskills: [{ name: chat }]') } }
        : { home }),
      env: {
        NATS_URL: nats.url,
        CODEHOST_TOKEN: 'token',
        CODEHOST_WEBHOOK_SECRET: secret,
        CODEHOST_WEBHOOK_PORT: '0',
        CODEHOST_API_URL: github.url,
        TRACKER_API_KEY: 'key',
        TRACKER_WEBHOOK_SECRET: secret,
        TRACKER_WEBHOOK_PORT: '0',
        TRACKER_API_URL: linear.url,
        ...more,
      },
    });
  beforeAll(async () => {
    [nats, github, linear] = await Promise.all([
      startNatsServer(),
      FakeGitHub.start({ token: 'token', login: 'owner', apps: {} }),
      FakeLinear.start({ apiKey: 'key' }),
    ]);
    boards = [await start(), await start()];
    seen = await observe(boards[0]);
  });
  afterAll(async () => {
    seen.close();
    await Promise.all(boards.map((board) => board.stop()));
    await Promise.all([nats.stop(), github.stop(), linear.stop()]);
  });

  const publish = async (board: TestSwitchboard, tag: string, id?: string) =>
    (
      await github.deliver(`${board.url}/webhook/codehost`, 'release', release(tag), {
        secret,
        ...(id && { id }),
      })
    ).status;
  const report = async (board: TestSwitchboard, body: object, id?: string) =>
    (await linear.deliver(`${board.url}/webhooks/tracker`, body, { secret, ...(id && { id }) })).status;
  const released = (tag: string) =>
    seen.messages.filter(({ topic, payload }) => topic === 'release.published' && payload.tag === tag);
  const reported = (id: string) =>
    seen.messages.filter(
      ({ topic, payload }) =>
        topic.startsWith('message.inbound.tracker') && JSON.stringify(payload).includes(id),
    );

  it('are taken once from the code host, also what is not journalled', async () => {
    for (const [board, id] of [...boards.map((board) => [board, 'a'] as const), [boards[1], 'b'] as const])
      expect(await publish(board, 'v1', id)).toBe(200);
    expect(await publish(boards[1], 'v2')).toBe(200);
    await waitFor(() => released('v2').length === 1);
    expect(released('v1')).toHaveLength(1);
    const place = `${boards[1].url}/webhook/codehost`;
    const again = await github.deliver(place, 'release', release('v1'), { secret, id: 'a' });
    // It starts no flow, so none is named.
    expect(await again.text()).toBe('Known, and not done again');
  });

  it('are taken once from the tracker: the same bytes under any id, and the same id with a new time', async () => {
    const body = issue('issue-again');
    expect(await report(boards[0], body, 'one')).toBe(200);
    expect(await report(boards[1], body, 'two')).toBe(200);
    expect(await report(boards[1], issue('issue-again', Date.now() + 5), 'one')).toBe(200);
    expect(await report(boards[1], issue('issue-last'), 'three')).toBe(200);
    await waitFor(() => reported('issue-last').length === 1);
    expect(reported('issue-again')).toHaveLength(1);
  });

  it('are known after both were started anew', async () => {
    const body = issue('issue-restarted');
    expect(await report(boards[0], body)).toBe(200);
    expect(await publish(boards[0], 'v3')).toBe(200);
    await waitFor(() => released('v3').length === 1 && reported('issue-restarted').length === 1);
    await boards[1].stop();
    boards[1] = await start(boards[1].home);
    expect(await report(boards[1], body)).toBe(200);
    expect(await publish(boards[1], 'v3')).toBe(200);
    expect(await publish(boards[1], 'v4')).toBe(200);
    await waitFor(() => released('v4').length === 1);
    expect([released('v3').length, reported('issue-restarted').length]).toEqual([1, 1]);
  });

  it('wait while NATS is away for a moment, and are taken once', async () => {
    await nats.kill();
    const sent = publish(boards[0], 'v5');
    await nats.start();
    expect(await sent).toBe(200);
    expect(await publish(boards[1], 'v5')).toBe(200);
    expect(await publish(boards[1], 'v6')).toBe(200);
    await waitFor(() => released('v6').length === 1);
    expect(released('v5')).toHaveLength(1);
  });

  it('are refused with 503 while NATS is away for long, and taken once when they are sent again', async () => {
    await boards[1].stop();
    boards[1] = await start(boards[1].home, { NATS_PUBLISH_TIMEOUT_MS: '1000' });
    await nats.kill();
    expect(await publish(boards[1], 'v7', 'failed')).toBe(503);
    await nats.start();
    // A release is not journalled: the first switchboard sees what the second publishes only if it is connected again.
    await waitFor(async () => (await boards[0].fetch('/ready')).status === 200, { timeoutMs: 90_000 });
    // As "Redeliver" does: the same bytes under the same id.
    for (const board of [boards[1], boards[0]])
      await waitFor(async () => (await publish(board, 'v7', 'failed')) === 200, { timeoutMs: 90_000 });
    expect(await publish(boards[0], 'v8')).toBe(200);
    // Each is handled in its own time once NATS is back.
    await waitFor(() => released('v8').length === 1 && released('v7').length > 0, { timeoutMs: 90_000 });
    expect(released('v7')).toHaveLength(1);
  });
});
