import { readOptions, referencePage } from '@trunkline/config';
import { startModelServer, waitFor } from '@trunkline/testing';
import { expect, it, onTestFinished, vi } from 'vitest';
import { buildMap } from '../console/pages/map/model.ts';
import { agent } from '../fixtures/crew.ts';
import { type Json, startSwitchboard } from '../fixtures/start-switchboard.ts';
import { toyPosts } from '../fixtures/toy-surface.ts';
import { switchboardOptions } from '../options.ts';
import { channelTopic } from '../router/router.ts';
import { diagnoseSurfaces } from './diagnose.ts';

// One more line in the one list of surfaces.
vi.mock('./list.ts', async (original) => {
  const { surfaces } = await original<typeof import('./list.ts')>();
  const { toySurface } = await import('../fixtures/toy-surface.ts');
  return { surfaces: [...surfaces, toySurface] };
});

const env = { TOY_TOKEN: 'toy-token' };

it('adds a surface by one file and one line: messages, channels, approvers, questions, schedules, map, options and doctor know it', async () => {
  const model = await startModelServer({
    script: ({ messages }) => {
      const last = messages.at(-1);
      return last?.role === 'tool'
        ? `I was told: ${last.content}`
        : { toolCalls: [{ name: 'ask_human', arguments: { question: 'Which colour?' } }] };
    },
  });
  onTestFinished(() => model.stop());
  const board = await startSwitchboard({
    env: { ...env, LLM_GATEWAY_URL: model.url, LLM_API_KEY: 'k', LLM_MODEL: 'm' },
    files: {
      'agents/helm.yaml': agent('helm', 'role: general\nskills: [{ name: chat }]'),
      'channels.yaml': 'channels: [{ id: board, platform: toy, channelId: board }]',
      'approvers.yaml': 'approvers: ["toy:kid"]',
    },
  });
  onTestFinished(() => board.stop());
  const { data: plugins } = (await board.call('/api/plugins')).body;
  expect(plugins).toContainEqual({ name: 'toy', title: 'Toy', kind: 'surface', state: 'running' });

  const say = (content: string) =>
    board.call('/webhooks/toy', JSON.stringify(content)).catch(() => undefined);
  await say('paint it');
  await waitFor(() => toyPosts.includes('Question: Which colour?'));
  await say('blue');
  await waitFor(() => toyPosts.includes('I was told: blue'));

  const { data: workspace } = (await board.call('/api/workspace')).body;
  expect(workspace.problems).toEqual([]);
  expect(workspace.channels).toMatchObject([{ id: 'board', platform: 'toy' }]);
  const map = buildMap({ plugins, agents: [], servers: [], workspace });
  expect(map.nodes).toContainEqual(expect.objectContaining({ id: 'surfaces:toy', state: 'live' }));
  expect(map.nodes).toContainEqual(expect.objectContaining({ id: 'topics:message.inbound.toy.#' }));
  await board.call('/publish', { topic: 'toy.drawn', payload: { colour: 'blue' } });
  const { body } = await board.call('/api/bus/history?topic=toy.%23');
  expect(body.data.messages.map(({ message }: Json) => message.topic)).toEqual(['toy.drawn']);
});

it('appears in the settings, in the channels of schedules and with the doctor', async () => {
  expect(referencePage([switchboardOptions])).toContain('TOY_TOKEN');
  expect(channelTopic({ channel: 'toy' })).toBe('message.outbound.toy.board');
  const words = (await diagnoseSurfaces(readOptions(switchboardOptions, { env }))).map(
    ({ subject, words }) => [subject, words],
  );
  expect(words).toContainEqual(['surface toy', 'answers: signed in as toy-token.']);
  const [off] = await diagnoseSurfaces(readOptions(switchboardOptions, { env: {} }));
  expect(off?.words).toContain('toy (TOY_TOKEN)');
});
