import { describe, expect, it, onTestFinished } from 'vitest';
import { Stage } from '../cases/harness/stage.suite.ts';
import { scriptedVoices } from '../cases/harness/voices.suite.ts';

/** A call that has begun while the models still load for so long. */
async function callWhileLoading(loading: number) {
  const voices = (clock: Stage['clock']) => scriptedVoices(clock, { loading });
  const stage = new Stage({ voices, answers: [{ text: 'It is noon.' }] });
  onTestFinished(() => stage.close());
  await stage.call();
  return stage;
}

const finals = (stage: Stage) =>
  stage.caller.received.flatMap(({ message }) => {
    const { text, final } = (message.data ?? {}) as { text?: string; final?: boolean };
    return message.type === 'user-transcription' && final === true ? text : [];
  });

const loadingNews = (stage: Stage) =>
  stage.caller.received.flatMap(({ message }) =>
    message.type === 'server-message' ? (message.data as { type: string }).type : [],
  );

describe('a call that comes while the models load', () => {
  it('keeps what is said, and answers it once they stand', async () => {
    const stage = await callWhileLoading(20_000);
    await stage.say('What time is it?');
    await stage.pass(15_000);
    expect(finals(stage)).toEqual([]);
    await stage.until(() => stage.types().includes('bot-stopped-speaking'));
    expect(finals(stage)).toEqual(['What time is it?']);
    expect(stage.logged).toEqual([]);
  });

  it('keeps a long story too, up to half a minute', async () => {
    const stage = await callWhileLoading(26_000);
    const story = Array.from({ length: 60 }, (_, index) => `word${index}`).join(' ');
    await stage.say(`${story} end.`);
    expect(stage.clock.now()).toBeGreaterThan(20_000);
    await stage.until(() => finals(stage).length > 0);
    expect(finals(stage)).toEqual([`${story} end.`]);
  });

  it('shows the page that speech is loading, and when it is ready', async () => {
    const stage = await callWhileLoading(3000);
    await stage.pass(1000);
    expect(loadingNews(stage)).toEqual(['speech-loading']);
    await stage.pass(3000);
    expect(loadingNews(stage)).toEqual(['speech-loading', 'speech-ready']);
  });

  it('says nothing of models that stand', async () => {
    const stage = await callWhileLoading(0);
    await stage.pass(1000);
    expect(loadingNews(stage)).toEqual([]);
  });

  it('says nothing to a caller who is gone', async () => {
    const stage = await callWhileLoading(3000);
    await stage.pass(1000);
    stage.caller.close('hung up');
    await stage.clock.advanceBy(5000);
    expect(loadingNews(stage)).toEqual(['speech-loading']);
  });
});
