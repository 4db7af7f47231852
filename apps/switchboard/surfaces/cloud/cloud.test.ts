import { FakeGoogle, type ModelServer, startModelServer, waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agent } from '../../fixtures/crew.ts';
import { type Observer, observe } from '../../fixtures/observe.ts';
import { type Json, startSwitchboard, type TestSwitchboard } from '../../fixtures/start-switchboard.ts';

const credentials = { clientId: 'client', clientSecret: 'secret-of-client', refreshToken: 'refresh-token' };
const files = {
  'agents/helm.yaml': agent('helm', 'role: general\nskills: [{ name: chat }]'),
  'agents/desk.yaml': agent('desk', 'role: general\nskills: [{ name: support }]'),
  'cloud.yaml': `drive: { orgFolderId: org-folder }
calendar: { orgCalendarId: team@acme, pollIntervalMinutes: 0.001 }
gmail: { watchLabels: [support], pollIntervalMinutes: 0.001, routingRules: [{ label: Support, skillHint: support }] }`,
};

let [google, model, board, seen] = [] as unknown as [FakeGoogle, ModelServer, TestSwitchboard, Observer];

beforeAll(async () => {
  google = await FakeGoogle.start(credentials);
  google.mails.push({ ...mail('old'), text: 'was here before' });
  google.events.push(event('old'));
  model = await startModelServer({ script: ({ model: name }) => `${name} will see to it` });
  board = await startSwitchboard({
    files,
    env: {
      LLM_GATEWAY_URL: model.url,
      LLM_API_KEY: 'k',
      LLM_MODEL: 'm',
      CLOUD_CLIENT_ID: credentials.clientId,
      CLOUD_CLIENT_SECRET: credentials.clientSecret,
      CLOUD_REFRESH_TOKEN: credentials.refreshToken,
      CLOUD_TOKEN_URL: `${google.url}/token`,
      CLOUD_API_URL: google.url,
      SWITCHBOARD_DELIVERY_RETRY_MS: '10',
    },
  });
  seen = await observe(board);
  await waitFor(() =>
    ['/events', '/messages'].every((path) =>
      google.server.requests.some((request) => request.path.endsWith(path)),
    ),
  );
});
afterAll(async () => {
  seen.close();
  await board.stop();
  await model.stop();
  await google.stop();
});

function mail(id: string) {
  return {
    id,
    threadId: `thread-${id}`,
    labelIds: ['Label_1'],
    from: 'Ada <ada@x.example>',
    subject: `About ${id}`,
    text: '',
  };
}

function event(id: string, more: Json = {}) {
  const time = new Date().toISOString();
  return { id, summary: `Meeting ${id}`, status: 'confirmed', created: time, updated: time, ...more };
}

const asked = (path: string) =>
  google.server.requests.filter((request) => request.path.endsWith(path)).length;

describe('what comes in', () => {
  it('is what changed in the calendar, once each, and nothing that was there before [S062] [S106]', async () => {
    google.events.push(
      event('new', {
        start: { dateTime: '2026-11-20T10:00:00Z' },
        end: { dateTime: '2026-11-20T11:00:00Z' },
      }),
    );
    const message = await seen.first('message.inbound.cloud.calendar');
    expect(message.payload).toMatchObject({
      content: 'Calendar: Meeting new was created, from 2026-11-20T10:00:00Z to 2026-11-20T11:00:00Z.',
      change: 'created',
      event: { id: 'new', summary: 'Meeting new' },
      calendarId: 'team@acme',
    });
    google.events.push(event('new', { status: 'cancelled', updated: '2027-01-01T00:00:00Z' }));
    await waitFor(
      () => seen.messages.filter(({ topic }) => topic === 'message.inbound.cloud.calendar').length === 2,
    );
    const changes = seen.messages.filter(({ topic }) => topic === 'message.inbound.cloud.calendar');
    expect(changes.map(({ payload }) => payload.change)).toEqual(['created', 'cancelled']);
  });

  it('goes on from now when the mark of the calendar is too old', async () => {
    const before = google.server.requests.length;
    google.forgottenBefore = google.events.length + 1;
    await waitFor(() =>
      google.server.requests
        .slice(before)
        .some(({ path, query }) => path.endsWith('/events') && !query.has('syncToken')),
    );
    google.forgottenBefore = 0;
    google.events.push(event('later'));
    await waitFor(() => seen.messages.some(({ payload }) => payload.event?.id === 'later'));
    expect(seen.messages.some(({ payload }) => payload.event?.id === 'old')).toBe(false);
  });

  it('is mail under a watched label, answered in its thread by the skill of the label [S142]', async () => {
    google.mails.push({ ...mail('m1'), text: 'My order is late.\nPlease help.' });
    const message = await seen.first('message.inbound.cloud.mail.support');
    expect(message.payload).toMatchObject({
      content: 'Mail from Ada <ada@x.example>: About m1\n\nMy order is late.\nPlease help.',
      skillHint: 'support',
      mail: { id: 'm1', threadId: 'thread-m1' },
    });
    const sent = await waitFor(() => google.sent[0]);
    expect(sent.threadId).toBe('thread-m1');
    const [head = '', body = ''] = sent.raw.split('\r\n\r\n');
    expect(head).toContain('To: Ada <ada@x.example>');
    expect(head).toContain('In-Reply-To: <m1@mail>');
    expect(Buffer.from(/B\?(.+)\?=/.exec(head)?.[1] ?? '', 'base64').toString()).toBe('Re: About m1');
    expect(Buffer.from(body, 'base64').toString()).toBe('model-of-desk will see to it');
    const polls = asked('/messages');
    await waitFor(() => asked('/messages') > polls + 2);
    expect(google.sent).toHaveLength(1);
    expect(seen.messages.some(({ payload }) => payload.mail?.id === 'old')).toBe(false);
  });

  it('brings attachments to the agent, and sends files with an answer', async () => {
    const bytes = Buffer.from('item,price\ntea,3\n');
    const attachments = [{ name: 'prices.csv', mediaType: 'text/csv', bytes }];
    google.server.fail('/m3/attachments/', { status: 503, body: {} });
    google.mails.push({ ...mail('m3'), text: 'See the list.', attachments });
    const message = await waitFor(() => seen.messages.find(({ payload }) => payload.mail?.id === 'm3'));
    expect(message.payload.content).toContain('See the list.');
    expect(message.payload.files).toMatchObject([{ name: 'prices.csv', mediaType: 'text/csv' }]);
    await waitFor(() => model.chats().some((chat) => JSON.stringify(chat).includes('tea')));
    const named = [{ ...message.payload.files[0], name: 'Preise für 2026.csv' }];
    await board.call('/publish', {
      topic: 'cloud.mail.reply.m3',
      payload: { content: 'With the list.', files: named },
    });
    const sent = await waitFor(() => google.sent.find(({ raw }) => raw.includes('multipart/mixed')));
    expect(sent.threadId).toBe('thread-m3');
    const [, boundary = ''] = /boundary="([^"]+)"/.exec(sent.raw) ?? [];
    const [, words = '', file = '', end] = sent.raw.split(`--${boundary}`);
    expect(Buffer.from(words.split('\r\n\r\n')[1] ?? '', 'base64').toString()).toBe('With the list.');
    expect(file).toContain("filename*=UTF-8''Preise%20f%C3%BCr%202026.csv");
    expect(Buffer.from(file.split('\r\n\r\n')[1] ?? '', 'base64')).toEqual(bytes);
    expect(end?.startsWith('--')).toBe(true);
    google.server.fail('POST /upload/gmail', { status: 413, body: { error: { message: 'too large' } } });
    await board.call('/publish', {
      topic: 'cloud.mail.reply.m3',
      payload: { content: 'Once more.', files: [{ ...named[0], name: 'half \ud83d.csv' }] },
    });
    const text = ({ raw }: { raw: string }) =>
      Buffer.from(raw.split('\r\n\r\n')[1] ?? '', 'base64').toString();
    const plain = await waitFor(() => google.sent.find((each) => text(each).includes('Once more.')));
    expect(text(plain)).toMatch(/Once more\.\nThe mail service did not take half .*\.csv: /);
  });

  it('is answered once, also where the answer arrived and nobody knows', async () => {
    google.mails.push({ ...mail('m4'), labelIds: [], text: 'Once?' });
    google.lostAnswers = 1;
    const { body } = await board.call('/publish', {
      topic: 'cloud.mail.reply.m4',
      payload: { content: 'Once.' },
    });
    await waitFor(async () => {
      const { body: list } = await board.call('/api/deliveries?state=sent');
      return list.data.deliveries.some(({ id }: { id: string }) => id === body.id);
    });
    expect(google.lostAnswers).toBe(0);
    const sent = google.sent.filter(({ threadId }) => threadId === 'thread-m4');
    expect(sent.map(({ raw }) => /^Message-ID: <\w{32}@/m.test(raw))).toEqual([true]);
  });

  it('cannot add headers to an answer by what its subject holds', async () => {
    google.mails.push({ ...mail('m2'), subject: 'Hi\r\nBcc: all@x.example', text: 'x' });
    const sent = await waitFor(() => google.sent.find(({ threadId }) => threadId === 'thread-m2'));
    expect(sent.raw).not.toMatch(/^Bcc:/m);
  });

  it('of machines is told and not answered, and what we sent is not told: nobody writes to himself without end', async () => {
    const before = google.sent.length;
    google.mails.push({ ...mail('away'), headers: { 'Auto-Submitted': 'auto-replied' }, text: 'I am away.' });
    google.mails.push({ ...mail('ours'), labelIds: ['Label_1', 'SENT'], text: 'We will see to it.' });
    google.mails.push({ ...mail('person'), headers: { 'Auto-Submitted': 'no' }, text: 'Hello?' });
    await waitFor(() => google.sent.some(({ threadId }) => threadId === 'thread-person'));
    const told = seen.messages.flatMap(({ topic, payload }) =>
      topic.startsWith('message.inbound.cloud.mail') ? [payload.mail.id] : [],
    );
    expect(told).toEqual(expect.arrayContaining(['away', 'person']));
    expect(told).not.toContain('ours');
    const answers = google.sent.slice(before);
    expect(answers.map(({ threadId }) => threadId)).toEqual(['thread-person']);
    expect(answers[0]?.raw).toMatch(/^Auto-Submitted: auto-replied\r$/m);
  });
});

describe('what goes out', () => {
  const publish = (topic: string, payload: Json) => board.call('/publish', { topic, payload });

  it('is documents in the folder of the organisation, or at the end of one there is [S115]', async () => {
    await publish('message.outbound.cloud.docs', { title: 'Notes', content: 'First.' });
    const [id] = await waitFor(() => [...google.documents.entries()].find(([, { text }]) => text !== ''));
    expect(google.documents.get(id)).toEqual({ title: 'Notes', text: 'First.\n' });
    expect(google.files.find((file) => file.id === id)?.parents).toEqual(['org-folder']);
    await publish('message.outbound.cloud.docs', { documentId: id, content: 'Second.' });
    await waitFor(() => google.documents.get(id)?.text === 'First.\nSecond.\n');
  });

  it('goes on with the document that a failed attempt had made', async () => {
    google.server.fail(':batchUpdate', { status: 503, body: {} });
    await publish('message.outbound.cloud.docs', { title: 'Once', content: 'Only once.' });
    await waitFor(() => [...google.documents.values()].some(({ text }) => text === 'Only once.\n'));
    expect([...google.documents.values()].filter(({ title }) => title === 'Once')).toHaveLength(1);
  });

  it('stands in its folder also when only a later attempt could put it there', async () => {
    google.server.fail('PATCH /drive/v3/files', { status: 503, body: {} });
    await publish('message.outbound.cloud.docs', { title: 'Filed', content: 'In its place.' });
    const [id] = await waitFor(() =>
      [...google.documents.entries()].find(([, { text }]) => text === 'In its place.\n'),
    );
    expect(google.files.find((file) => file.id === id)?.parents).toEqual(['org-folder']);
  });

  it('is files', async () => {
    await publish('message.outbound.cloud.drive', { name: 'report.md', content: '# Report\nGood.' });
    const file = await waitFor(() => google.files.find(({ name }) => name === 'report.md'));
    expect(file).toMatchObject({
      mimeType: 'text/markdown',
      parents: ['org-folder'],
      content: '# Report\nGood.',
    });
  });

  it('waits out a limit, which the suite also tells by a refusal', async () => {
    const message = 'User rate limit exceeded.';
    const error = { code: 403, message, errors: [{ message, reason: 'userRateLimitExceeded' }] };
    google.server.fail('POST /upload/drive', { status: 403, body: { error } });
    google.server.fail('POST /upload/drive', { status: 429, headers: { 'retry-after': '1' }, body: {} });
    await publish('message.outbound.cloud.drive', { name: 'patient.md', content: 'In time.' });
    await waitFor(() => google.files.find(({ name }) => name === 'patient.md'));
  });

  it('fails in words where it cannot be written', async () => {
    const { body } = await publish('message.outbound.cloud.drive', { name: 'x.md' });
    const failed = await waitFor(async () => {
      const { body: list } = await board.call('/api/deliveries?state=failed');
      return list.data.deliveries.find(({ id }: Json) => id === body.id);
    });
    expect(failed.error).toContain('content');
  });
});

describe('the token', () => {
  it('is kept, renewed when it is refused, and its end is told', async () => {
    expect(google.grants).toBe(1);
    google.expireTokens();
    await waitFor(() => google.grants === 2);
    google.revoked = true;
    google.expireTokens();
    const { payload } = await seen.first('auth.token_refresh_failed');
    expect(payload).toEqual({
      surface: 'cloud',
      error: 'The cloud suite gave no token: Token has been expired or revoked.; check CLOUD_REFRESH_TOKEN.',
    });
    google.revoked = false;
    google.events.push(event('after'));
    await waitFor(() => seen.messages.some(({ payload: { event: found } }) => found?.id === 'after'));
    expect(seen.messages.filter(({ topic }) => topic === 'auth.token_refresh_failed')).toHaveLength(1);
  });
});
