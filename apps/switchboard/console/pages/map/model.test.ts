import { expect, it } from 'vitest';
import type { AgentView, BusMessage } from '../../../api-types.ts';
import { buildMap } from './model.ts';
import { litBy, litByCalls } from './useLights.ts';

const agent = (name: string, skills: string[]): AgentView => ({
  name,
  type: 'in-process',
  skills: skills.map((skill) => ({ name: skill, description: '', keywords: [] })),
  load: { running: 0, waiting: 0, circuit: 'closed' },
});

const map = buildMap({
  plugins: [
    { name: 'scheduler', state: 'running' },
    { name: 'chat', title: 'Discord', kind: 'surface', state: 'running' },
    { name: 'tracker', kind: 'surface', state: 'off' },
  ],
  agents: [
    { ...agent('helm', ['chat']), default: true },
    agent('warden', ['incidents']),
    agent('mute', []),
    { ...agent('gone', []), type: 'a2a', sighting: { reachable: false, at: 0 } },
    { ...agent('back', []), type: 'a2a', sighting: { reachable: true, at: 0 } },
  ],
  servers: [
    { name: 'files', trust: 'trusted', transport: 'stdio', enabled: true, error: null, grants: ['warden'] },
  ],
  workspace: {
    agents: [
      { name: 'helm', tools: ['publish_event'], canDelegate: ['warden'] },
      { name: 'warden', tools: [], canDelegate: [] },
    ],
    channels: [{ platform: 'chat', agent: 'warden' }],
    routes: [
      {
        name: 'r',
        when: { topic: 'deploy.*', match: {} },
        // biome-ignore lint/suspicious/noThenProperty: the file of a route names it so
        then: { skill: 'incidents' },
        priority: 0,
        enabled: true,
      },
    ],
  },
});

const message = (topic: string, payload: unknown = {}): BusMessage => ({
  id: topic,
  topic,
  timestamp: 0,
  correlationId: 'c',
  payload,
});

it('wires surfaces to topics, topics to agents, and agents to tools', () => {
  const lines = map.edges.map(({ from, to }) => `${from} > ${to}`);
  expect(lines).toEqual(
    expect.arrayContaining([
      'surfaces:chat > topics:message.inbound.chat.#',
      'surfaces:schedules > topics:cron.#',
      'topics:message.inbound.chat.# > agents:warden',
      'topics:message.inbound.chat.# > agents:helm',
      'topics:deploy.* > agents:warden',
      'topics:agent.skill.request > agents:warden',
      'agents:helm > agents:warden',
      'agents:helm > tools:publish_event',
      'agents:warden > tools:files',
    ]),
  );
  expect(lines).not.toContain('topics:cron.# > agents:warden');
  expect(lines.some((line) => line.endsWith('agents:mute'))).toBe(false);
  const labels = map.nodes.map(({ label }) => label);
  expect(labels).toEqual(
    expect.arrayContaining(['Command line', 'API', 'Schedules', 'Discord', 'Publish messages']),
  );
  const stateOf = (node: string) => map.nodes.find(({ name }) => name === node)?.state;
  expect(['tracker', 'gone', 'back', 'helm'].map(stateOf)).toEqual(['idle', 'idle', 'live', 'live']);
  expect(lines.some((line) => line.includes('inbound.tracker'))).toBe(false);
});

it('lights the way of a message from its surface to its agent', () => {
  const origins = new Map<string, string>();
  const topic = 'topics:message.inbound.chat.#';
  expect(litBy(message('message.inbound.chat.77'), map, origins)).toEqual({
    nodes: ['surfaces:chat', topic],
    edges: [{ from: 'surfaces:chat', to: topic }],
  });
  expect(litBy(message('agent.skill.request'), map, origins).nodes).toEqual([]);
  expect(litBy(message('flow.item.updated', { targetAgent: 'warden' }), map, origins)).toEqual({
    nodes: [topic, 'agents:warden'],
    edges: [{ from: topic, to: 'agents:warden' }],
  });
  expect(litBy(message('message.outbound.chat.77'), map, origins).nodes).toEqual(['surfaces:chat']);
  expect(litBy(message('system.error'), map, origins).nodes).toEqual([]);
});

it('lights the tools that were called, those of servers by the name of the server', () => {
  expect(litByCalls(['publish_event'], 'helm', map)).toEqual({
    nodes: ['tools:publish_event'],
    edges: [{ from: 'agents:helm', to: 'tools:publish_event' }],
  });
  expect(litByCalls(['files_read'], 'warden', map).nodes).toEqual(['tools:files']);
  expect(litByCalls(['profiles', 'filesystem'], 'warden', map).nodes).toEqual([]);
});
