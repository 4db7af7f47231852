import { join } from 'node:path';
import { waitFor } from '@trunkline/testing';
import { describe, expect, it } from 'vitest';
import { asksForName, echo } from '../fixtures/agents.ts';
import { rpc, saying } from '../fixtures/calls.ts';
import { hideTable } from '../fixtures/hidden-table.ts';
import { hookedAgents, sending } from '../fixtures/hooked-agents.ts';
import type { TestAgent } from '../fixtures/start-agent.ts';

const start = hookedAgents();
const hide = (agent: TestAgent, table: string) => hideTable(join(agent.directory.path, 'a2a-push.db'), table);

describe('a disk that does not take what is noted of webhooks', () => {
  it('keeps nobody from being told, and ends no process', async () => {
    const { agent, hook, clock } = await start(echo);
    const showTable = hide(agent, 'push_deliveries');
    await rpc(agent, 'message/send', sending('hi', { url: hook.url }));
    await waitFor(() => hook.states().includes('completed'));
    await waitFor(() => agent.logger.errors().includes('failed to write a2a-push.db'));
    await clock.advanceBy(6 * 60 * 1000);
    showTable();
    const { result } = await rpc(agent, 'message/send', sending('again', { url: hook.url }));
    await waitFor(() => agent.push?.deliveries(String(result.id)).some(({ state }) => state === 'completed'));
  });

  it('leaves no task behind that was refused for it', async () => {
    const { agent, hook } = await start(echo);
    const showTable = hide(agent, 'push_configs');
    const { error } = await rpc(agent, 'message/send', sending('hi', { url: hook.url }));
    expect(error).toMatchObject({ code: -32603 });
    expect(agent.engine.running).toBe(0);
    showTable();
  });

  it('takes no answer that was refused for it into the conversation', async () => {
    const { agent, hook } = await start(asksForName);
    const { result } = await rpc(agent, 'message/send', saying('hi'));
    const taskId = String(result.id);
    const showTable = hide(agent, 'push_configs');
    const configuration = { pushNotificationConfig: { url: hook.url } };
    const refused = await rpc(agent, 'message/send', saying('Bob', { taskId }, { configuration }));
    expect(refused.error).toMatchObject({ code: -32603 });
    showTable();
    await rpc(agent, 'message/send', saying('Ada', { taskId }));
    const said = agent.engine.get(taskId).history.filter(({ role }) => role === 'user');
    expect(said.map(({ parts }) => parts[0])).toMatchObject([{ text: 'hi' }, { text: 'Ada' }]);
  });
});
