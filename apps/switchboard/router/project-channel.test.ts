import { expect, it } from 'vitest';
import { ExecutorRegistry } from '../dispatch/registry.ts';
import type { Project } from '../projects/registry.ts';
import { channelsSchema, fleetSchema } from '../workspace/schema/channels.ts';
import { Conversations, decide, projectChannel } from './decide.ts';

const project: Project = {
  id: 'p1',
  name: 'Sea',
  slug: 'sea',
  path: '/srv/sea',
  github: { owner: 'Acme', repo: 'sea.map' },
  defaultBranch: 'main',
};
const { channels } = channelsSchema(['chat', 'tracker', 'cloud']).parse({
  channels: [
    { id: 'sea-dev', platform: 'chat', channelId: '1', project: 'sea', kind: 'dev', agent: 'mate' },
    { id: 'sea-alerts', platform: 'chat', channelId: '2', project: 'sea', kind: 'alerts' },
  ],
});

it('leads from a repository to its project and to the channel for what it is about', () => {
  const find = (payload: object) => projectChannel(payload, [project], channels);
  expect(find({ repo: { owner: 'acme', repo: 'sea.map' } })).toMatchObject({ channel: { id: 'sea-dev' } });
  expect(find({ repo: 'Acme/sea.map', kind: 'alerts' })).toMatchObject({ channel: { id: 'sea-alerts' } });
  expect(find({ repo: 'Acme/sea.map', kind: 'releases' })).toEqual({ project, channel: undefined });
  expect(find({ repo: 'Acme/other' })).toBeUndefined();
  expect(find({ content: 'no repository' })).toBeUndefined();
});

it('brings what a repository tells to the agent of its channel', () => {
  const registry = new ExecutorRegistry();
  registry.replace('test', [
    {
      agent: 'mate',
      type: 'in-process',
      skills: [{ name: 'steer', description: '', keywords: [] }],
      execute: async () => ({ content: '', taskState: 'completed' }),
    },
  ]);
  const workspace = { routes: () => [], channels: () => channels, fleet: () => fleetSchema.parse({}) };
  const conversations = new Conversations({ talk: () => undefined, hold: () => 'c' });
  const deps = {
    registry,
    workspace,
    projects: { list: () => [project] },
    conversations,
    defaultSkill: undefined,
  };
  const topic = 'message.inbound.codehost.acme.sea';
  const first = (payload: object) => decide({ topic, payload }, deps)[0];
  expect(first({ repo: 'acme/sea.map', content: 'x' })).toMatchObject({
    agent: 'mate',
    skill: 'steer',
    rule: 'project',
    why: 'the channel sea-dev of the project sea belongs to mate',
  });
  const alert = { repo: 'acme/sea.map', kind: 'alerts', content: 'x' };
  expect(first(alert).skill).toBeUndefined();
});
