import { type Child, startChild, temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterAll, expect, it } from 'vitest';
import { outline, rpc, saying, stream } from './fixtures/calls.ts';
import { startWebhook } from './fixtures/webhook.ts';

const directory = temporaryDirectory();
const children: Child[] = [];

afterAll(async () => {
  for (const child of children) await child.kill();
  directory.remove();
});

async function start(): Promise<{ url: string; child: Child }> {
  const child = startChild(new URL('./fixtures/child-agent.ts', import.meta.url), {
    arguments: [directory.path],
  });
  children.push(child);
  const line = await child.waitForLine('listening on ');
  return { url: line.split(' ').at(-1) ?? '', child };
}

it('forgets no task that a caller knows of when the process is killed [A025] [A026] [A111] [A132]', async () => {
  const hook = await startWebhook();
  const first = await start();
  const done = await rpc(first, 'message/send', saying('hello'));
  const asking = await rpc(first, 'message/send', saying('ask'));
  const configuration = { blocking: false, pushNotificationConfig: { url: hook.url } };
  const working = await rpc(first, 'message/send', saying('work', {}, { configuration }));
  const streamed = await stream(first, 'message/stream', saying('work'));
  const { id: streamedId } = await streamed.next();
  await first.child.kill('SIGKILL');

  const second = await start();
  const read = async (id: unknown) => (await rpc(second, 'tasks/get', { id })).result;
  const interrupted = {
    status: { state: 'failed', message: { parts: [{ text: 'interrupted by server restart' }] } },
  };
  expect(await read(done.result.id)).toEqual(done.result);
  expect(await read(working.result.id)).toMatchObject(interrupted);
  expect(await read(streamedId)).toMatchObject(interrupted);
  await waitFor(() => hook.states().includes('failed'));

  const answered = await rpc(second, 'message/send', saying('Ada', { taskId: asking.result.id }));
  expect(answered.result).toMatchObject({ id: asking.result.id, status: { state: 'completed' } });
  const rest = await stream(second, 'tasks/resubscribe', { id: streamedId });
  expect(outline(await rest.rest())).toEqual(['task failed', 'status-update failed']);
  await second.child.kill('SIGKILL');
  await hook.close();
});
