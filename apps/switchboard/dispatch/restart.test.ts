import { temporaryDirectory } from '@trunkline/testing';
import { expect, it } from 'vitest';
import { observe } from '../fixtures/observe.ts';
import { startSwitchboard } from '../fixtures/start-switchboard.ts';

it('answers with the demo model out of the box, and keeps flows over a restart [S084]', async () => {
  const home = temporaryDirectory();
  const first = await startSwitchboard({ home: home.path });
  const seen = await observe(first);
  await first.call('/publish', {
    topic: 'message.inbound.cli',
    payload: { content: 'outage?' },
    correlationId: 'c1',
  });
  expect((await seen.first('message.outbound.cli', 'c1')).payload.taskState).toBe('completed');
  await seen.first('flow.item.completed', 'c1');
  seen.close();
  await first.stop();
  const second = await startSwitchboard({ home: home.path });
  expect((await second.call('/api/flows/skill-c1')).body.data).toMatchObject({
    targetAgent: 'warden',
    stage: 'done',
  });
  await second.stop();
  home.remove();
});

it('takes messages without agents, and says what is missing [S047]', async () => {
  const board = await startSwitchboard({ env: { DISABLE_AGENT_RUNTIME: 'yes' } });
  const seen = await observe(board);
  await board.call('/publish', {
    topic: 'message.inbound.cli',
    payload: { content: 'x' },
    correlationId: 'c2',
  });
  await seen.first('dispatch.dropped.no_skill', 'c2');
  expect((await seen.first('message.outbound.cli', 'c2')).payload.content).toContain('fleet.yaml');
  seen.close();
  await board.stop();
});
