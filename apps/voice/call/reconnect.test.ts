import { describe, expect, it, onTestFinished } from 'vitest';
import { Stage, type StageSetup } from '../cases/harness/stage.suite.ts';

function openStage(setup: StageSetup = {}): Stage {
  const stage = new Stage(setup);
  onTestFinished(() => stage.close());
  return stage;
}

const write = (content: string) => ({ type: 'send-text', data: { content } });

describe('a caller who is back before the broken line is noticed', () => {
  it('goes on with the whole conversation, whichever line ends last', async () => {
    const answers = [
      { to: 'Ada', text: 'Hello Ada.' },
      { to: 'Who', text: 'You are Ada.' },
    ];
    const stage = openStage({ answers });
    const broken = await stage.call();
    broken.tell(write('My name is Ada.'));
    await stage.until(() => stage.types().includes('bot-started-speaking'));
    const back = await stage.call();
    broken.close('nothing came any more');
    back.tell(write('Who am I?'));
    await stage.until(() => stage.types().includes('bot-stopped-speaking'));
    expect(JSON.stringify(stage.model.prompts.at(-1))).toContain('My name is Ada.');
    const remembered = stage.memory.recall('default', 'default').map(({ content }) => content);
    expect(remembered[0]).toBe('My name is Ada.');
    expect(remembered.slice(-2)).toEqual(['Who am I?', 'You are Ada.']);
  });

  it('is told the notification that the broken line did not say', async () => {
    const stage = openStage();
    const broken = await stage.call();
    broken.muted = true;
    await stage.pass(2000);
    stage.delivery.deliver('default', { from: 'Scout', text: 'It is done.', policy: 'next_silence' });
    await stage.call();
    await stage.pass(1000);
    expect(stage.types()).toEqual([]);
    broken.close('nothing came any more');
    await stage.until(() => stage.types().includes('bot-stopped-speaking'));
    expect(stage.pending.waitingFor('default')).toEqual([]);
  });
});
