import { describe, expect, it, onTestFinished } from 'vitest';
import { Stage } from '../cases/harness/stage.suite.ts';

async function openCall(...answers: { to?: string; text: string }[]): Promise<Stage> {
  const stage = new Stage({ answers });
  onTestFinished(() => stage.close());
  await stage.call();
  return stage;
}

describe('a call while the disk is full', () => {
  it('goes on, and remembers what was said as long as it lasts', async () => {
    const stage = await openCall({ to: 'Ada', text: 'Hello Ada.' }, { to: 'Who', text: 'You are Ada.' });
    stage.refuseWrites();
    await stage.say('My name is Ada.');
    await stage.until(() => stage.types().includes('bot-stopped-speaking'));
    await stage.say('Who am I?');
    await stage.until(() => stage.heard().endsWith('You are Ada.'));
    expect(JSON.stringify(stage.model.prompts.at(-1))).toContain('Hello Ada.');
    expect(stage.logged.filter((words) => words.startsWith('failed to store conversation'))).toHaveLength(1);
  });

  it('speaks notifications, and again in the next call', async () => {
    const stage = await openCall();
    stage.delivery.deliver('default', { from: 'Scout', text: 'It is done.', policy: 'next_silence' });
    stage.refuseWrites();
    await stage.until(() => stage.types().includes('bot-stopped-speaking'));
    expect(stage.heard()).toBe('Scout says: It is done.');
    expect(stage.pending.waitingFor('default')).toHaveLength(1);
  });
});
