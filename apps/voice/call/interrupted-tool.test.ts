import { describe, expect, it, onTestFinished } from 'vitest';
import { Stage, type StageSetup } from '../cases/harness/stage.suite.ts';

const answers = [
  { to: 'joke', text: 'Knock knock.' },
  { to: 'stop', text: 'Okay.' },
  { to: 'pizza', tool: 'order', after: 20 },
];
const told = { result_of: 'order', text: 'Your pizza is ordered.' };
const tools = { order: { takes: 5000, result: 'ordered' } };

async function openCall(setup: StageSetup = {}) {
  const stage = new Stage({
    answers: [...answers, told],
    tools,
    behavior: { micro_ack: false },
    verbosity: 'silent',
    ...setup,
  });
  onTestFinished(() => stage.close());
  await stage.call();
  return stage;
}

/** Asks for a pizza, and waits until the tool has begun. */
async function order(stage: Stage) {
  await stage.say('Please order a pizza.');
  await stage.until(() => stage.ran.length === 1);
}

const lastPrompt = (stage: Stage) => JSON.stringify(stage.model.prompts.at(-1));

describe('a tool that has begun when the caller interrupts', () => {
  it('is not begun again when the question is repeated: the second call waits for the first', async () => {
    const stage = await openCall();
    await order(stage);
    await stage.say('I said please order a pizza.');
    await stage.until(() => stage.heard().endsWith('ordered.'));
    await stage.pass(3000);
    expect(stage.ran).toHaveLength(1);
    expect(stage.heard()).toBe('Your pizza is ordered.');
    expect(stage.pending.waitingFor('default')).toEqual([]);
  });

  it('is known to the model as one that still runs, and the question is not asked anew', async () => {
    const stage = await openCall();
    await order(stage);
    await stage.say('Now tell me a joke.');
    await stage.until(() => stage.heard().includes('Knock knock.'));
    const [, ...messages] = stage.model.prompts.at(-1) ?? [];
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user']);
    expect(JSON.stringify(messages[2])).toContain('Still running');
    expect(JSON.stringify(messages[3])).not.toContain('pizza');
  });

  it('has its result told by the model at the next pause, once', async () => {
    const stage = await openCall();
    await order(stage);
    await stage.say('Now tell me a joke.');
    await stage.until(() => stage.heard().endsWith('ordered.'));
    await stage.pass(10_000);
    expect(stage.heard()).toBe('Knock knock. Your pizza is ordered.');
    expect([stage.ran.length, stage.pending.waitingFor('default')]).toEqual([1, []]);
    await stage.say('Please stop.');
    await stage.until(() => stage.heard().includes('Okay.'));
    expect(lastPrompt(stage)).toContain('ordered');
  });

  it('gives its result to a question that is repeated when it is done, and it is not told again', async () => {
    const stage = await openCall({ tools: { order: { takes: 2000, result: 'ordered' } } });
    await order(stage);
    await stage.say('I said that you should please order for me, right now and not tomorrow, a large pizza.');
    expect(stage.pending.waitingFor('default')).toMatchObject([{ from: 'order', text: 'ordered' }]);
    await stage.until(() => stage.heard().endsWith('ordered.'));
    await stage.pass(5000);
    expect([stage.ran.length, stage.heard()]).toEqual([1, 'Your pizza is ordered.']);
    expect(stage.pending.waitingFor('default')).toEqual([]);
  });

  it('is begun anew when its result was heard and the caller asks for it again', async () => {
    const stage = await openCall();
    await order(stage);
    await stage.say('I said please order a pizza.');
    await stage.until(() => stage.heard().endsWith('ordered.'));
    await stage.pass(2000);
    await stage.say('Order another pizza.');
    await stage.until(() => stage.heard().endsWith('ordered. Your pizza is ordered.'));
    expect(stage.ran).toHaveLength(2);
  });

  it('goes on when the caller hangs up; who calls again joins it, or is told', async () => {
    const stage = await openCall();
    await order(stage);
    stage.caller.close('the line broke');
    await stage.call();
    await stage.say('Please order a pizza.');
    await stage.until(() => stage.heard().endsWith('ordered.'));
    expect([stage.ran.length, stage.heard()]).toEqual([1, 'Your pizza is ordered.']);
    await stage.pass(2000);
    await stage.say('Order another pizza.');
    await stage.until(() => stage.ran.length === 2);
    stage.caller.close('the line broke again');
    await stage.clock.advanceBy(6000);
    expect(stage.pending.waitingFor('default')).toMatchObject([{ from: 'order', text: 'ordered' }]);
    await stage.call();
    await stage.until(() => stage.heard().endsWith('ordered.'));
    await stage.pass(5000);
    expect([stage.ran.length, stage.heard()]).toEqual([2, 'Your pizza is ordered.']);
    expect(stage.pending.waitingFor('default')).toEqual([]);
  });

  it('tells its failure too', async () => {
    const failing = { result_of: 'order', text: 'That failed.' };
    const stage = await openCall({
      answers: [...answers, failing],
      tools: { order: { takes: 5000, result: 'Error: no oven' } },
    });
    await order(stage);
    await stage.say('Now tell me a joke.');
    await stage.until(() => stage.heard().includes('That failed.'));
    expect(lastPrompt(stage)).toContain('Error: no oven');
  });

  it('keeps its result for the next call where the model fails to tell it', async () => {
    const failing = { result_of: 'order', fails: true };
    const stage = await openCall({ answers: [...answers, failing] });
    await order(stage);
    await stage.say('Now tell me a joke.');
    await stage.until(() => stage.heard().includes('Knock knock.'));
    await stage.pass(10_000);
    expect(stage.heard()).toBe('Knock knock.');
    expect(stage.pending.waitingFor('default')).toMatchObject([{ text: 'ordered' }]);
  });

  it('is cancelled and begun again where it only reads', async () => {
    const stage = await openCall({ tools: { order: { takes: 5000, result: 'ordered', readOnly: true } } });
    await order(stage);
    await stage.say('I said please order a pizza.');
    await stage.until(() => stage.heard().endsWith('ordered.'));
    await stage.pass(6000);
    expect([stage.ran.length, stage.heard()]).toEqual([2, 'Your pizza is ordered.']);
    const stopped = stage.caller.received.find(({ message }) => message.type === 'llm-function-call-stopped');
    expect(stopped?.message.data).toMatchObject({ cancelled: true });
  });
});

describe('an order while a tool holds the floor', () => {
  const hold = { takes: 3000, result: 'ordered', interruption: 'hold' as const };

  it('does not run again when it was repeated, although the tool is done in the middle of the sentence', async () => {
    const stage = await openCall({ tools: { order: hold } });
    await order(stage);
    await stage.pass(2600);
    await stage.say('I said please order a pizza.');
    await stage.until(() => stage.heard().endsWith('ordered.'));
    await stage.pass(5000);
    expect([stage.model.prompts.length, stage.ran.length]).toEqual([4, 1]);
  });

  it('runs where only another tool holds the floor, although it has run before', async () => {
    const stage = await openCall({
      answers: [...answers, told, { to: 'vacuum', tool: 'clean', after: 20 }],
      tools: { order: hold, clean: hold },
    });
    await order(stage);
    await stage.pass(6000);
    await stage.say('Start the vacuum.');
    await stage.until(() => stage.ran.length === 2);
    await stage.say('And order a pizza.');
    await stage.until(() => stage.ran.length > 2);
    expect(stage.ran.map(({ name }) => name)).toEqual(['order', 'clean', 'order']);
  });

  it('runs where it is new: the caller has heard the result and wants another one', async () => {
    const stage = await openCall({
      answers: [...answers, { ...told, text: 'Your pizza is ordered, and it comes in an hour.' }],
      tools: { order: hold },
    });
    await order(stage);
    await stage.say('Are you there?');
    await stage.until(() => stage.heard().includes('ordered'));
    await stage.say('Order another pizza, please.');
    await stage.until(() => stage.ran.length === 2);
  });

  it('runs where the words that were said meanwhile needed no model', async () => {
    const stage = await openCall({ tools: { order: hold } });
    stage.delivery.deliver('default', { from: 'Ada', text: 'The door is open.', policy: 'when_asked' });
    await order(stage);
    await stage.say('Any news?');
    await stage.until(() => stage.heard().includes('door'));
    await stage.pass(5000);
    await stage.say('Order another pizza, please.');
    await stage.until(() => stage.ran.length === 2);
  });
});

describe('an answer that is prepared before the caller has finished', () => {
  it('begins no tool when it is thrown away', async () => {
    const stage = await openCall();
    await stage.say('Please order a pizza');
    await stage.until(() => stage.model.prompts.length > 0);
    expect(lastPrompt(stage)).toContain('pizza');
    await stage.pass(100);
    await stage.say('no wait, tell me a joke instead.');
    await stage.until(() => stage.heard() === 'Knock knock.');
    await stage.pass(6000);
    expect([stage.model.prompts.length > 1, stage.ran]).toEqual([true, []]);
  });
});
