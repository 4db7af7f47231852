import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, onTestFinished } from 'vitest';
import { Stage } from '../cases/harness/stage.suite.ts';

const kilobyte = 1024;
/** After so many turns everything that is kept has reached its bound. */
const warmUpTurns = 60;
const turnsInStretch = 60;
/** The engine goes on compiling for about 300 turns: 3 to 6 KB a turn, then 1. */
const stretches = 6;

it('a call that goes on and on keeps no more with every turn', async () => {
  const stage = new Stage({ answers: [{ text: 'It is sunny, and it will stay so until the evening.' }] });
  onTestFinished(() => stage.close());
  await stage.call();
  await talk(stage, warmUpTurns);
  const grown: number[] = [];
  for (let stretch = 0; stretch < stretches; stretch += 1) {
    const before = heapBytes();
    await talk(stage, turnsInStretch);
    grown.push((heapBytes() - before) / turnsInStretch / kilobyte);
  }
  // What is kept by the turn shows in every stretch; code that the engine compiles anew shows in one.
  expect(Math.min(...grown)).toBeLessThan(3);
  expect(stage.clock.pendingTimers).toBeLessThan(5);
});

/** Every third answer is interrupted. */
async function talk(stage: Stage, count: number): Promise<void> {
  for (let turn = 1; turn <= count; turn += 1) {
    await stage.say('What is the weather like?');
    await stage.until(() => stage.types().includes('bot-started-speaking'));
    if (turn % 3 > 0) await stage.until(() => stage.types().includes('bot-stopped-speaking'));
    forgetRecords(stage);
  }
}

/** What the stage itself writes down for other tests. */
function forgetRecords({ caller, model }: Stage): void {
  caller.received.length = 0;
  caller.events.length = 0;
  caller.speaker.played.length = 0;
  model.prompts.length = 0;
}

function heapBytes(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  collect();
  return process.memoryUsage().heapUsed;
}
