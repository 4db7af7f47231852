import { join } from 'node:path';
import { createEmbeddedBus, type Message } from '@trunkline/bus';
import { createLogger } from '@trunkline/config';
import type { Principal } from '@trunkline/identity';
import type { Consent } from '@trunkline/policy';
import { type TemporaryDirectory, temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createApprovalRules } from './approval-rules.ts';
import { HumanInput } from './human-input.ts';
import { QuestionStore, type SharedQuestion } from './question-store.ts';
import { createKeptAnswers, sharedQuestions } from './shared-questions.ts';
import { createSurfaceQuestions } from './surface-questions.ts';

const ignore = () => undefined;
const dayMs = 24 * 60 * 60 * 1000;
/** What people are shown of a call. */
const subject = { title: 'May I?', noun: 'call', text: 'a\u202e', directory: '', files: [] };
let [directory, store] = [] as unknown as [TemporaryDirectory, QuestionStore];
let now = 0;
const silent = createLogger({ name: 'test', destination: { write: () => undefined } });

beforeEach(() => {
  directory = temporaryDirectory();
  now = 0;
  store = new QuestionStore(join(directory.path, 'questions.db'), () => now);
});
afterEach(() => {
  store.close();
  directory.remove();
});

it('forgets what was answered after a week, and what nobody answered after a month', () => {
  for (const id of ['answered', 'open'])
    store.open({
      requestId: id,
      correlationId: `c-${id}`,
      question: 'Well?',
      approval: false,
      owner: 'anonymous',
    });
  store.answer('answered', 'yes', 'operator');
  const kept = () => ['answered', 'open'].filter((id) => store.get(id) !== undefined);
  now = 6 * dayMs;
  store.sweep();
  expect(kept()).toEqual(['answered', 'open']);
  now = 8 * dayMs;
  store.sweep();
  expect(kept()).toEqual(['open']);
  now = 31 * dayMs;
  store.sweep();
  expect(kept()).toEqual([]);
});

it('says that nobody waits for an answer when the work has ended elsewhere, and asks anew when it is asked again', async () => {
  const bus = await createEmbeddedBus({ directory: join(directory.path, 'bus') });
  const humanInput = new HumanInput(store, bus, rules, ignore);
  const asked = { correlationId: 'c1', question: 'Well?', approval: false, owner: 'anonymous' };
  store.open({ ...asked, requestId: 'r1' });
  now = 2;
  store.withdraw('c1', 1);
  expect(humanInput.pending()).toEqual([]);
  expect(await humanInput.answer('r1', 'Yes', { kind: 'operator', id: 'operator', via: [] })).toBe('over');
  expect(store.open({ ...asked, requestId: 'r2' }).requestId).toBe('r2');
  await bus.stop();
});

it('has one answer to a question that two switchboards know, and one use of it', () => {
  const copies = new QuestionStore(join(directory.path, 'copies.db'), () => now);
  const asked = { correlationId: 'c1', question: 'May I?', approval: true, owner: 'anonymous' };
  store.open({ ...asked, requestId: 'r1' }, { tool: 'write_file', input: { path: 'a' }, subject });
  const heard: string[] = [];
  store.onAnswered((id, answer) => heard.push(`${id} ${answer}`));
  const here = sharedQuestions(store, copies);
  const row = here.read('r1', 10_000);
  copies.adopt(row as SharedQuestion);
  expect(copies.aboutOf('r1')).toEqual({ tool: 'write_file', input: { path: 'a' }, subject });
  copies.answer('r1', 'yes', 'operator');
  // As it was before the answer.
  copies.take(row as SharedQuestion, null);
  expect(copies.get('r1')?.answer).toBe('yes');
  store.take(copies.shared('r1') as SharedQuestion, null);
  expect(heard).toEqual(['r1 yes']);
  expect(copies.use('r1')).toBe(true);
  store.take(copies.shared('r1') as SharedQuestion, null);
  expect(store.use('r1')).toBe(false);
  expect(here.read('r1', 10)).toBeUndefined();
  copies.close();
});

/** Switchboards with stores of their own that keep answers on one bus. */
async function openSwitchboards(names: readonly string[]) {
  const bus = await createEmbeddedBus({ directory: join(directory.path, 'bus') });
  const sealing = {
    // No two are the same, as in life.
    seal: { seal: (words: string) => JSON.stringify([crypto.randomUUID(), words]) },
    exchange: { open: async (sealed: string) => JSON.parse(sealed)[1] },
  };
  const answers = createKeptAnswers(bus, sealing, silent);
  const consents: Consent[] = [];
  const boards = names.map((name) => {
    const [own, copies] = ['own', 'copies'].map(
      (kind) => new QuestionStore(join(directory.path, `${name}-${kind}.db`)),
    ) as [QuestionStore, QuestionStore];
    const shared = { copies, isGone: (node: string) => node === 'gone', answers };
    const onNats = Object.assign(Object.create(bus), {
      ...{ publish: bus.publish.bind(bus), subscribe: bus.subscribe.bind(bus) },
      ...{ request: bus.request.bind(bus), status: () => ({ ...bus.status(), engine: 'nats' }) },
    });
    const record = (consent: Consent) => void consents.push(consent);
    return { own, copies, input: new HumanInput(own, onNats, rules, record, shared) };
  });
  const stop = async () => {
    for (const { own, copies } of boards) for (const each of [own, copies]) each.close();
    await bus.stop();
  };
  return { bus, answers, boards, consents, stop };
}

const operator: Principal = { kind: 'operator', id: 'operator', via: [] };

it('uses an approval that was kept once, though two switchboards go on with the same work', async () => {
  const { bus, answers, boards, stop } = await openSwitchboards(['one', 'other']);
  const asked = { correlationId: 'c1', question: 'May I?', approval: true, owner: 'anonymous' };
  store.open({ ...asked, requestId: 'r1' });
  for (const { copies } of boards) copies.take(store.shared('r1') as SharedQuestion, 'gone');
  const [yes, no] = ['yes', 'no'].map((answer) => ({ id: answer, answer, by: 'operator' }));
  for (const given of [yes, no]) expect(await answers.keep('r1', given as never)).toEqual(yes);
  const announced: Message[] = [];
  await bus.subscribe('agent.input.request.#', (message) => void announced.push(message));
  const about = { tool: 'write_file', input: {}, subject };
  const given = await Promise.all(
    boards.map(({ input }) => input.askApproval({ correlationId: 'c1', about }, 'May I?', 60_000)),
  );
  expect(given.filter((answer) => answer !== undefined)).toEqual(['yes']);
  expect(announced).toEqual([]);
  await stop();
});

it('has one answer where two are given at once at two switchboards, and says so to the other person', async () => {
  const { boards, stop } = await openSwitchboards(['at work', 'with a copy']);
  const asked = { correlationId: 'c1', question: 'Which way?', approval: false, owner: 'anonymous' };
  store.open({ ...asked, requestId: 'r1' });
  const [atWork, other] = boards as [(typeof boards)[0], (typeof boards)[0]];
  for (const { copies } of boards) copies.take(store.shared('r1') as SharedQuestion, 'gone');
  const waiting = atWork.input.ask({ correlationId: 'c1' }, 'Which way?', 60_000);
  await waitFor(() => atWork.own.get('r1') !== undefined);
  // It was asked while nobody was at work yet: it does not know that work goes on.
  const answers = ['Left', 'Right'];
  const given = await Promise.all(
    [atWork, other].map(({ input }, index) => input.answer('r1', answers[index] as string, operator)),
  );
  const counted = given.findIndex((outcome) => outcome !== 'answered-already');
  expect([...given].toSorted()).toEqual([given[counted], 'answered-already'].toSorted());
  expect(await waiting).toBe(answers[counted]);
  for (const { own } of boards) expect(own.get('r1')?.answer).toBe(answers[counted]);
  await stop();
});

it.each([
  ['accepted', 'm1'],
  ['answered-already', 'm2'],
  ['unsure', undefined],
])('says %s where the switchboard that asked is silent and %s is stored', async (outcome, stored) => {
  const { answers, boards, stop } = await openSwitchboards(['relay']);
  const asked = { correlationId: 'c1', question: 'Which way?', approval: false, owner: 'anonymous' };
  store.open({ ...asked, requestId: 'r1' });
  boards[0]?.copies.take(store.shared('r1') as SharedQuestion, 'slow');
  if (stored !== undefined) await answers.keep('r1', { id: stored, answer: 'Left', by: 'operator' });
  expect(await boards[0]?.input.answer('r1', 'Left', operator, { id: 'm1' })).toBe(outcome);
  await stop();
});

it('accepts an answer that reaches two switchboards with the same question, and records consent once', async () => {
  const { boards, consents, stop } = await openSwitchboards(['back', 'at work', 'asked']);
  const asked = { correlationId: 'c1', question: 'May I?', approval: true, owner: 'anonymous' };
  for (const { own, input } of boards.slice(0, 2)) {
    own.open({ ...asked, requestId: 'r1' }, { tool: 'write_file', input: {}, subject });
    await input.start();
  }
  expect(await boards[2]?.input.answer('r1', 'yes', operator)).toBe('accepted');
  await waitFor(() => boards.slice(0, 2).every(({ own }) => own.get('r1')?.answer === 'yes'));
  expect(consents).toHaveLength(1);
  await stop();
});

it('shows a question in the words of whoever asked, whatever is announced under its id', async () => {
  const bus = await createEmbeddedBus({ directory: join(directory.path, 'bus') });
  const humanInput = new HumanInput(store, bus, rules, ignore);
  const asked = { requestId: 'r1', correlationId: 'c1', question: 'May I delete it?', approval: true };
  store.open({ ...asked, owner: 'anonymous' });
  const forged = { requestId: 'r1', correlationId: 'c2', question: 'Lunch at noon?', approval: false };
  expect(humanInput.announced(forged)).toEqual({
    ...asked,
    question: expect.stringMatching(/^May I delete it\?\nOnly the operator/),
  });
  expect(humanInput.announced({ ...forged, requestId: 'r2' })).toBeUndefined();
  await bus.stop();
});

const namesOf = ({ id }: Principal) => [id];
const rules = createApprovalRules({ access: { isOpen: false }, approvers: () => [], namesOf, url: () => '' });

it('puts a question to a person for them alone, and takes no answer of others under their name', async () => {
  const bus = await createEmbeddedBus({ directory: join(directory.path, 'bus') });
  const humanInput = new HumanInput(store, bus, rules, ignore);
  const questions = createSurfaceQuestions({ bus, humanInput, logger: silent });
  await questions.start();
  const put: Message[] = [];
  await bus.subscribe('message.outbound.#', (message) => void put.push(message));
  const ava: Principal = { kind: 'person', id: 'user:ava', via: [] };
  const bob: Principal = { ...ava, id: 'user:bob' };
  const source = { interface: 'chat', channelId: '1', userId: 'a' };
  const inbound = { topic: 'message.inbound.chat.1', correlationId: 'c1', source };
  const reply = { topic: 'message.outbound.chat.1' };
  await bus.publish({ ...inbound, payload: { content: 'open it' }, reply, principal: ava });
  const answer = humanInput.ask({ correlationId: 'c1', principal: ava }, 'Which door?', 60_000);
  await waitFor(() => put.length === 1);
  expect(put[0]?.principal).toMatchObject({ kind: 'person', id: 'user:ava', via: ['switchboard'] });
  const said = { ...inbound, id: 'm2', timestamp: 1, payload: { content: 'the left one' } };
  expect(await questions.take({ ...said, principal: bob })).toBe(false);
  expect(await questions.take({ ...said, principal: ava })).toBe(true);
  expect(await answer).toBe('the left one');
  const payload = { project: { platform: 'chat', channelId: '1' } };
  await bus.publish({ topic: 'agent.skill.request', correlationId: 'c2', payload, principal: ava });
  const shown = humanInput.ask({ correlationId: 'c2', principal: ava }, 'What does it look like?', 60_000);
  await waitFor(() => put.length === 2);
  const files = [{ id: 'f1', name: 'door.txt', mediaType: 'text/plain', size: 1 }];
  const member: Principal = { ...bob, role: 'member' };
  const drawn = { ...said, id: 'm3', payload: { content: 'so', files }, principal: member };
  expect(await questions.take(drawn)).toBe(true);
  // The file is of whoever sent it, and cannot be read on behalf of another.
  expect(await shown).toMatch(/^so\n\[Files that come with an answer are not read/);
  await bus.stop();
});

it.each([false, true])(
  'takes what came again for the answer where it could not be stored the first time (confirmed too late: %s)',
  async (isStored) => {
    const { bus, answers, boards, stop } = await openSwitchboards(['one']);
    const { input: humanInput } = boards[0] as (typeof boards)[0];
    const questions = createSurfaceQuestions({ bus, humanInput, logger: silent });
    await questions.start();
    const put: Message[] = [];
    await bus.subscribe('message.outbound.#', (message) => void put.push(message));
    const source = { interface: 'chat', channelId: '1', userId: 'a' };
    const inbound = { topic: 'message.inbound.chat.1', correlationId: 'c1', source, principal: operator };
    const reply = { topic: 'message.outbound.chat.1' };
    await bus.publish({ ...inbound, payload: { content: 'open it' }, reply });
    const answer = humanInput.ask({ correlationId: 'c1', principal: operator }, 'Which door?', 60_000);
    await waitFor(() => put.length === 1);
    const { keep } = answers;
    vi.spyOn(answers, 'keep').mockImplementationOnce(async (requestId, given) => {
      if (isStored) await keep(requestId, given);
      throw new Error('NATS does not answer');
    });
    const said = { ...inbound, id: 'm2', timestamp: 1, payload: { content: 'the left one' } };
    await expect(questions.take(said)).rejects.toThrow('NATS does not answer');
    expect(await questions.take(said)).toBe(true);
    expect(await answer).toBe('the left one');
    await stop();
  },
);

it('does not wait for a person when whoever asked has gone already', async () => {
  const bus = await createEmbeddedBus({ directory: join(directory.path, 'bus') });
  const humanInput = new HumanInput(store, bus, rules, ignore);
  expect(
    await humanInput.ask({ correlationId: 'c1' }, 'Still there?', 60_000, AbortSignal.abort()),
  ).toBeUndefined();
  expect(humanInput.pending()).toHaveLength(1);
  await bus.stop();
});

it.each([
  ['an approver', { kind: 'person', id: 'chat:1' }, 'always', 'yes for this task', 'task'],
  ['an approver', { kind: 'person', id: 'chat:1' }, 'no, always', 'no, always', 'always'],
  ['the operator', { kind: 'operator', id: 'operator' }, 'always', 'always', 'always'],
  ['the operator without a rule', { kind: 'operator', id: 'operator' }, 'always', 'always', 'task'],
] as const)('takes what %s says as far as it may count', async (who, by, said, counted, scope) => {
  const bus = await createEmbeddedBus({ directory: join(directory.path, 'bus') });
  const approvals = { access: { isOpen: false }, approvers: () => ['chat:1'], namesOf, url: () => '' };
  const consents: Consent[] = [];
  const rules = createApprovalRules(approvals);
  const humanInput = new HumanInput(store, bus, rules, (consent) => consents.push(consent));
  const about = { tool: 'write_file', input: { path: 'a' }, rule: 'rules[0]' };
  const noRule = who.endsWith('without a rule') && { isTaskOnly: true as const };
  const asker = { correlationId: 'c1', about: { ...about, subject, ...noRule } };
  const answer = humanInput.askApproval(asker, 'May I?', 60_000);
  const [question] = humanInput.pending();
  // A page shows it whole, with nothing hidden.
  expect(question?.subject).toMatchObject({ title: 'May I?', text: 'a\u202e', shown: 'a‹U+202E›' });
  const answered = (more: Partial<Principal>) =>
    humanInput.answer(question?.requestId ?? '', said, { ...by, via: [], ...more });
  // An approver whose account is disabled is a guest.
  if (by.kind === 'person') expect(await answered({ role: 'guest' })).toBe('not-allowed');
  expect(await answered({})).toBe('accepted');
  expect(await answer).toBe(counted);
  const isYes = !counted.startsWith('no');
  expect(consents).toEqual([
    {
      ...{ ...about, answeredBy: { ...by, via: [] }, shown: 'May I?', task: 'c1' },
      decision: isYes ? 'allow' : 'deny',
      scope,
    },
  ]);
  await bus.stop();
});
