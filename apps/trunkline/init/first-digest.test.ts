import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { temporaryHome } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { firstDigest } from './first-digest.ts';
import { RunningServices } from './services.ts';

/** What is told of a turn of the agent that ended like this, and whether it counts as a digest. */
async function digestOf(state: string, entries: object[]): Promise<{ told: string; isWritten: boolean }> {
  const answers: Record<string, object> = {
    'POST /api/scheduler/jobs': { job: { next: '2026-11-18T07:00:00Z' } },
    'POST /api/chat/sessions/morning-digest/messages': { task_id: 'task' },
    'GET /api/chat/sessions/morning-digest': { turns: [{ task_id: 'task', state, entries }] },
  };
  const agent = createServer(({ method, url = '' }, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(answers[`${method} ${url.split('?')[0]}`]));
  }).listen(0, '127.0.0.1');
  await once(agent, 'listening');
  const home = temporaryHome();
  onTestFinished(() => {
    agent.close();
    home.remove();
  });
  const url = `http://127.0.0.1:${(agent.address() as AddressInfo).port}`;
  const told: string[] = [];
  const terminal = { say: (text: string) => void told.push(text), ask: async () => '' };
  const urls = { voice: url, agent: url, research: url, switchboard: url };
  const isWritten = await firstDigest(terminal, new RunningServices(urls, home.path, {}));
  return { told: told.join('\n'), isWritten };
}

it('shows a digest without what the terminal would act upon', async () => {
  const { told, isWritten } = await digestOf('completed', [
    { kind: 'tool', name: 'web_search\u001b[2J' },
    { kind: 'text', text: 'Tides\u001b]52;c;b3duZWQ=\u0007 rise.\r\n\tMore.' },
  ]);
  expect(told).toContain('\n  web_search\ufffd[2J\n');
  expect(told).toContain('\nTides\ufffd]52;c;b3duZWQ=\ufffd rise.\n\tMore.\n');
  expect(isWritten).toBe(true);
});

it('says why none was written, and what to do', async () => {
  const { told, isWritten } = await digestOf('failed', [
    { kind: 'note', text: 'The model does not answer.', failed: true },
    { kind: 'note', text: 'Earlier messages were summarised.' },
  ]);
  expect(told).toContain('It was not written: The model does not answer. It is scheduled all the same');
  expect(told).toContain('trunkline doctor');
  expect(isWritten).toBe(false);
});

it('counts a digest that waits for an answer as not written yet', async () => {
  const { told, isWritten } = await digestOf('input-required', [{ kind: 'question', text: 'Which city?' }]);
  expect(told).toContain('Which city?\nAnswer at ');
  expect(isWritten).toBe(false);
});
