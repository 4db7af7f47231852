import { FakeGuild, waitFor } from '@trunkline/testing';
import { expect, it } from 'vitest';
import { startSwitchboard } from '../../fixtures/start-switchboard.ts';

it('a gateway that lets nobody in holds up no stop', async () => {
  const guild = await FakeGuild.start({ 'main-token': { id: '600000000000000001', name: 'trunk' } });
  guild.isMute = true;
  const board = await startSwitchboard({ env: { CHAT_BOT_TOKEN: 'main-token', CHAT_API_URL: guild.url } });
  await waitFor(() => guild.opened === 1);
  await board.stop();
  expect(guild.identifies).toBe(0);
  await guild.stop();
});
