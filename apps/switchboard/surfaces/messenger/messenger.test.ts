import { FakeSignal, type ModelServer, startModelServer, waitFor } from '@trunkline/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { agent } from '../../fixtures/crew.ts';
import { type Observer, observe } from '../../fixtures/observe.ts';
import { type Json, startSwitchboard, type TestSwitchboard } from '../../fixtures/start-switchboard.ts';

const number = '+4930123';
const files = { 'agents/helm.yaml': agent('helm', 'role: general\nskills: [{ name: chat }]') };
let [signal, model, board, seen] = [] as unknown as [FakeSignal, ModelServer, TestSwitchboard, Observer];

beforeAll(async () => {
  signal = await FakeSignal.start(number);
  model = await startModelServer({
    script: ({ messages }) => `You said: ${spoken(messages.at(-1)?.content)}`,
  });
  board = await startSwitchboard({
    files,
    env: {
      LLM_GATEWAY_URL: model.url,
      LLM_API_KEY: 'k',
      LLM_MODEL: 'm',
      MESSENGER_URL: signal.url,
      MESSENGER_NUMBER: number,
      MESSENGER_RECIPIENT: '+499',
      SWITCHBOARD_DELIVERY_RETRY_MS: '10',
    },
  });
  seen = await observe(board);
  await waitFor(() => signal.connections > 0);
});
afterAll(async () => {
  seen.close();
  await board.stop();
  await model.stop();
  await signal.stop();
});
beforeEach(() => {
  signal.sent.length = 0;
});

/** The words of a message; with files it has parts. */
const spoken = (content: unknown) =>
  Array.isArray(content) ? content.map(({ text: words }) => words).join('\n') : content;

let time = 1;
const text = (message: string, more: Json = {}) => ({
  sourceNumber: '+491',
  sourceName: 'Ada',
  timestamp: ++time,
  dataMessage: { message, ...more },
});
const publish = (topic: string, payload: Json) => board.call('/publish', { topic, payload });
const failed = (id: string) =>
  waitFor(async () => {
    const { body } = await board.call('/api/deliveries?state=failed&surface=messenger');
    return body.data.deliveries.find((delivery: Json) => delivery.id === id);
  });

describe('the messenger', () => {
  it('brings a text to the agent and its answer to the sender', async () => {
    signal.receive(text('hello'));
    await waitFor(() => signal.sent.length > 0);
    expect(signal.sent).toEqual([{ number, recipients: ['+491'], message: 'You said: hello' }]);
    expect(await seen.first('message.inbound.messenger.+491')).toMatchObject({
      payload: { content: 'hello', direct: true, name: 'Ada' },
      source: { interface: 'messenger', userId: '+491' },
    });
  });

  it('brings files to the agent, and files of answers to the person', async () => {
    signal.attachments.set('a1.txt', Buffer.from('The train leaves at 07:42.'));
    const attachments = [
      { id: 'a1.txt', contentType: 'text/plain', filename: 'plan.txt', size: 26 },
      { id: 'big', contentType: 'image/png', filename: 'map.png', size: 30_000_000 },
      { id: 'gone', contentType: 'image/png', filename: 'old.png', size: 3 },
    ];
    signal.receive({ ...text(''), dataMessage: { message: null, attachments } });
    const answer = await waitFor(() => signal.sent.find(({ message }) => message.includes('07:42')));
    expect(answer.message).toMatch(/Look at what I attached/);
    expect(answer.message).toMatch(/map\.png could not be read: it has more than 10 MB.*CORE_MAX_FILE_MB/);
    expect(answer.message).toMatch(/old\.png could not be read: the bridge answers with 404/);
    const inbound = await waitFor(() => seen.messages.find(({ payload }) => payload.files));
    expect(inbound.payload.files).toMatchObject([{ name: 'plan.txt', mediaType: 'text/plain', size: 26 }]);
    await publish('message.outbound.messenger.+491', { content: 'back', files: inbound.payload.files });
    const back = await waitFor(() => signal.sent.find(({ message }) => message === 'back'));
    const bytes = Buffer.from('The train leaves at 07:42.').toString('base64');
    expect(back.base64_attachments).toEqual([`data:text/plain;filename=plan.txt;base64,${bytes}`]);
    signal.server.fail('/v2/send', { status: 413, body: { error: 'too large' } });
    await publish('message.outbound.messenger.+491', { content: 'again', files: inbound.payload.files });
    const words = await waitFor(() => signal.sent.find(({ message }) => message.startsWith('again')));
    expect(words.message).toMatch(/The Signal bridge did not take plan\.txt: .*413/);
    expect(words).not.toHaveProperty('base64_attachments');
  });

  it('does not fetch the files of strangers, and loses no text for files that it cannot read', async () => {
    const attachments = [{ id: 'theirs.txt', contentType: 'text/plain', filename: 'theirs.txt', size: 3 }];
    signal.attachments.set('theirs.txt', Buffer.from('boo'));
    signal.receive({ ...text('let me in', { attachments }), sourceNumber: '+4977' });
    signal.receive(text('see this', { attachments: [{ id: null, filename: 'nowhere.png' }] }));
    signal.receive(text('and this', { attachments: { count: 2 } }));
    const { payload } = await seen.first('message.inbound.messenger.+4977');
    expect(payload.content).toMatch(/let me in\n\[Not read: theirs\.txt\. Files are taken from people/);
    expect(payload).not.toHaveProperty('files');
    expect(signal.server.requests.some(({ path }) => path.endsWith('/theirs.txt'))).toBe(false);
    await waitFor(() =>
      signal.sent.find(({ message }) => /see this\n\[nowhere\.png could not/.test(message)),
    );
    await waitFor(() => signal.sent.find(({ message }) => message === 'You said: and this'));
    await waitFor(() => signal.sent.find(({ recipients }) => recipients[0] === '+4977'));
  });

  it('answers a group in the group', async () => {
    signal.receive(text('hello all', { groupInfo: { groupId: 'abc=' } }));
    const recipient = `group.${Buffer.from('abc=').toString('base64')}`;
    await waitFor(() => signal.sent.some(({ recipients }) => recipients[0] === recipient));
  });

  it('takes nothing twice, and nothing without words', async () => {
    const same = text('once');
    for (const envelope of [same, same, { sourceNumber: '+491', timestamp: 1, typingMessage: {} }, { x: 1 }])
      signal.receive(envelope);
    signal.receive(text('last'));
    await waitFor(() => signal.sent.some(({ message }) => message === 'You said: last'));
    expect(signal.sent.map(({ message }) => message)).toEqual(['You said: once', 'You said: last']);
  });

  it('sends nothing twice whose answer breaks off behind its status', async () => {
    const headers = { 'content-length': '1000', connection: 'close' };
    signal.server.fail('/v2/send', { status: 201, headers, body: '{"timest' });
    const { body } = await publish('message.outbound.messenger.+491', { content: 'only once' });
    await waitFor(async () => {
      const { body: list } = await board.call('/api/deliveries?state=sent&surface=messenger');
      return list.data.deliveries.find((delivery: Json) => delivery.id === body.id);
    });
    const sent = signal.server.requests.filter(
      ({ body: letter }) => (letter as Json).message === 'only once',
    );
    expect(sent).toHaveLength(1);
  });

  it('connects again when the line is cut', async () => {
    const before = signal.connections;
    signal.cut();
    await waitFor(() => signal.connections > before);
    signal.receive(text('back'));
    await waitFor(() => signal.sent.some(({ message }) => message === 'You said: back'));
  });

  it('sends schedules and what names nobody to the recipient of the settings', async () => {
    await publish('message.outbound.messenger.cron', { content: 'nightly' });
    await publish('message.outbound.messenger', { content: 'to you', recipient: '+498' });
    await waitFor(() => signal.sent.length === 2);
    expect(signal.sent.map(({ recipients, message }) => [recipients[0], message]).sort()).toEqual([
      ['+498', 'to you'],
      ['+499', 'nightly'],
    ]);
  });

  it('waits out failures, splits what is long, and says what was refused', async () => {
    signal.server.fail('/v2/send', { status: 500, body: {} });
    signal.server.fail('/v2/send', { status: 429, headers: { 'retry-after': '0' }, body: {} });
    await publish('message.outbound.messenger.+491', { content: `${'a'.repeat(1999)}\nb` });
    await waitFor(() => signal.sent.length === 2);
    expect(signal.sent.map(({ message }) => message.length)).toEqual([1999, 1]);
    signal.server.fail('/v2/send', { status: 400, body: { error: 'Unregistered user' } });
    const { body } = await publish('message.outbound.messenger.+492', { content: 'x' });
    expect((await failed(body.id)).error).toContain('Unregistered user');
  });

  it('sends nothing again that the bridge took without saying when', async () => {
    const sends = () => signal.server.requests.filter(({ path }) => path === '/v2/send').length;
    const before = sends();
    signal.server.fail('/v2/send', { status: 201, body: '' });
    const { body } = await publish('message.outbound.messenger.+493', { content: 'once' });
    await waitFor(async () => {
      const { body: list } = await board.call('/api/deliveries?state=sent&surface=messenger');
      return list.data.deliveries.find((delivery: Json) => delivery.id === body.id);
    });
    expect(sends() - before).toBe(1);
  });
});
