import { FakeGitHub, FakeGoogle, waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Observer, observe } from '../fixtures/observe.ts';
import { type Json, startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';

const credentials = { clientId: 'client', clientSecret: 'secret-of-client', refreshToken: 'refresh-token' };
let [github, google, board, seen] = [] as unknown as [FakeGitHub, FakeGoogle, TestSwitchboard, Observer];
let env: Record<string, string>;

beforeAll(async () => {
  github = await FakeGitHub.start({ token: 'token-of-the-test' });
  google = await FakeGoogle.start(credentials);
  env = {
    CODEHOST_TOKEN: 'token-of-the-test',
    CODEHOST_WEBHOOK_SECRET: 'hook-secret',
    CODEHOST_WEBHOOK_PORT: '0',
    CODEHOST_API_URL: github.url,
    CLOUD_CLIENT_ID: credentials.clientId,
    CLOUD_CLIENT_SECRET: credentials.clientSecret,
    CLOUD_REFRESH_TOKEN: credentials.refreshToken,
    CLOUD_TOKEN_URL: `${google.url}/token`,
    CLOUD_API_URL: google.url,
    SWITCHBOARD_PUBLIC_URL: 'https://board.example/',
  };
  board = await startSwitchboard({ env, files: { 'cloud.yaml': 'drive: { orgFolderId: org }' } });
  seen = await observe(board);
});
afterAll(async () => {
  seen.close();
  await board.stop();
  await google.stop();
  await github.stop();
});
beforeEach(() => {
  seen.messages.length = 0;
});

const onboard = (payload: Json) => board.call('/api/onboard', payload);
const project = (slug: string) => ({ slug, title: `Project ${slug}`, github: `acme/${slug}` });

describe('bringing a project online', () => {
  it('registers the webhook, makes the folder, tells the bus and answers [S018] [S019] [S020] [S066] [S077] [S080] [S082] [S093] [S094] [S095] [S096] [S097] [S109] [S110] [S111]', async () => {
    const { status, body } = await onboard({ ...project('rail'), discord: { general: '77' } });
    expect([status, body]).toMatchObject([
      200,
      {
        success: true,
        step: 'reply',
        status: 'onboarded',
        slug: 'rail',
        github: 'acme/rail',
        summary: 'Project rail is online',
        content: expect.stringContaining('github_webhook: done'),
        steps: {
          validate: { status: 'ok' },
          github_webhook: { status: 'ok', detail: 'https://board.example/webhook/codehost' },
          drive_folder: { status: 'ok' },
          bus_notify: { status: 'ok' },
          reply: { status: 'ok' },
        },
      },
    ]);
    expect(github.hooks.get('acme/rail')).toMatchObject([
      {
        active: true,
        events: ['issues', 'issue_comment', 'pull_request', 'pull_request_review_comment'],
        config: {
          url: 'https://board.example/webhook/codehost',
          content_type: 'json',
          secret: 'hook-secret',
        },
      },
    ]);
    const [folder] = google.files;
    expect(folder).toMatchObject({
      name: 'Project rail',
      parents: ['org'],
      mimeType: expect.stringContaining('folder'),
    });
    const complete = await seen.first('message.inbound.onboard.complete');
    expect(complete.payload).toMatchObject({
      ...project('rail'),
      defaultBranch: 'main',
      team: 'dev',
      agents: ['reviewer'],
      discord: { general: '77' },
      driveFolderId: folder?.id,
      steps: { github_webhook: { status: 'ok' } },
    });
  });

  it('may be done again: what is there is left as it is [S021] [S022] [S023] [S024]', async () => {
    await onboard(project('again'));
    const more = { defaultBranch: 'trunk', team: 'gtm', agents: ['ada'], discord: {} };
    const { body } = await onboard({ ...project('again'), ...more });
    expect(body.steps).toMatchObject({
      github_webhook: { status: 'skip', reason: expect.stringContaining('registered already') },
      drive_folder: { status: 'ok', detail: 'was there' },
    });
    expect(github.hooks.get('acme/again')).toHaveLength(1);
    expect(google.files.filter(({ name }) => name === 'Project again')).toHaveLength(1);
    const told = () => seen.messages.filter(({ topic }) => topic === 'message.inbound.onboard.complete');
    await waitFor(() => told().length === 2);
    expect(told()[1]?.payload).toMatchObject(more);
  });

  it.each([
    [{}, 'slug is required; title is required; github is required'],
    [{ ...project('x'), slug: '../x' }, 'slug must be'],
    [{ ...project('x'), title: ' ' }, 'title is required'],
    [{ ...project('x'), github: 'acme' }, 'github must have the form owner/repo'],
    [{ ...project('x'), github: 'a/b/c' }, 'github must have the form owner/repo'],
    ['[]', ''],
  ])('refuses %j [S078] [S143]', async (payload, words) => {
    const { status, body } = await onboard(payload);
    expect([status, body.success]).toEqual([400, false]);
    expect(body.error).toContain(words);
    if (words !== '')
      expect(body).toMatchObject({ step: 'validate', steps: { validate: { status: 'error' } } });
  });

  it('refuses a second request while the first is under way [S079] [S144]', async () => {
    let release: (() => void) | undefined;
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    github.server.on('GET /repos/:owner/slow/hooks', async () => {
      await gate;
      return { body: [] };
    });
    const first = onboard({ slug: 'slow', title: 'Slow', github: 'waits/slow' });
    await waitFor(() => github.server.requests.some(({ path }) => path === '/repos/waits/slow/hooks'));
    const second = await onboard({ slug: 'slow', title: 'Slow', github: 'waits/slow' });
    expect([second.status, second.body.error]).toEqual([409, expect.stringContaining('already')]);
    release?.();
    expect((await first).status).toBe(200);
    expect((await onboard({ slug: 'slow', title: 'Slow', github: 'waits/slow' })).status).toBe(200);
  });

  it('goes on when the webhook or the folder fails, and says so [S145]', async () => {
    github.server.fail('POST /repos/acme/broken/hooks', {
      status: 403,
      body: { message: 'Must have admin rights' },
    });
    google.server.fail('POST /drive/v3/files', { status: 500, body: {} });
    const { status, body } = await onboard(project('broken'));
    expect(status).toBe(200);
    expect(body).toMatchObject({
      success: true,
      summary: 'Project broken is online, but a step failed',
      steps: {
        github_webhook: { status: 'error', message: expect.stringContaining('Must have admin rights') },
        drive_folder: { status: 'error' },
        bus_notify: { status: 'ok' },
      },
    });
  });

  it('answers at the reply topic of a message, and nowhere without one', async () => {
    const topic = 'message.inbound.onboard';
    await board.call('/publish', {
      topic,
      payload: project('wired'),
      reply: { topic: 'message.outbound.cli' },
    });
    expect((await seen.first('message.outbound.cli')).payload).toMatchObject({
      success: true,
      slug: 'wired',
    });
    await board.call('/publish', { topic, payload: project('silent') });
    const complete = await waitFor(() =>
      seen.messages.find(({ topic: at, payload }) => at.endsWith('complete') && payload.slug === 'silent'),
    );
    expect(complete.payload.steps.reply).toBeUndefined();
  });

  it('begins when the code host tells of a new repository', async () => {
    const repository = {
      name: 'New.Line',
      full_name: 'acme/New.Line',
      owner: { login: 'acme' },
      description: 'Trains',
      visibility: 'private',
      default_branch: 'trunk',
    };
    const payload = { action: 'created', repository, sender: { login: 'ada' } };
    await github.deliver(`${board.url}/webhook/codehost`, 'repository', payload, { secret: 'hook-secret' });
    const inbound = await seen.first('message.inbound.onboard');
    expect(inbound.payload).toMatchObject({
      slug: 'new-line',
      title: 'New.Line',
      github: 'acme/New.Line',
      full_name: 'acme/New.Line',
      name: 'New.Line',
      owner: 'acme',
      description: 'Trains',
      visibility: 'private',
    });
    const complete = await seen.first('message.inbound.onboard.complete');
    expect(complete.payload).toMatchObject({
      slug: 'new-line',
      github: 'acme/New.Line',
      defaultBranch: 'trunk',
    });
    expect(github.hooks.get('acme/New.Line')).toHaveLength(1);
  });
});

describe('with nothing configured', () => {
  it.each([
    ['nothing at all', [], {}, 'CODEHOST_TOKEN', 'CLOUD_CLIENT_ID'],
    [
      'no public address',
      ['CODEHOST_TOKEN', 'CODEHOST_WEBHOOK_PORT'],
      {},
      'SWITCHBOARD_PUBLIC_URL',
      'CLOUD_CLIENT_ID',
    ],
    ['no cloud.yaml', ['CLOUD'], {}, 'CODEHOST_TOKEN', 'no cloud.yaml'],
    ['an empty folder', ['CLOUD'], { 'cloud.yaml': 'drive: {}' }, 'CODEHOST_TOKEN', 'orgFolderId'],
  ])('skips the steps that need it: %s', async (_name, keep, files, webhook, folder) => {
    const kept = Object.fromEntries(
      Object.entries(env).filter(([name]) => keep.some((start) => name.startsWith(start))),
    );
    const bare = await startSwitchboard({ env: kept, files });
    const { status, body } = await bare.call('/api/onboard', project('bare'));
    expect(status).toBe(200);
    expect(body.steps).toMatchObject({
      github_webhook: { status: 'skip', reason: expect.stringContaining(webhook) },
      drive_folder: { status: 'skip', reason: expect.stringContaining(folder) },
    });
    await bare.stop();
  });
});
