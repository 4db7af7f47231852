import {
  expectShown,
  loadWire,
  loadWiresForAnyModel,
  startWireServer,
  type Wire,
  type WireServer,
} from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { agent } from '../fixtures/crew.ts';
import { type Observer, observe } from '../fixtures/observe.ts';
import { startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';

/** Its agent has no calculator. */
const wires = [
  ...loadWiresForAnyModel().filter(({ expect: { calls, runsAtMost } }) => !calls && !runsAtMost),
  loadWire('ollama/does-not-support-tools'),
];

describe('an agent of the switchboard', () => {
  let server: WireServer;
  let board: TestSwitchboard;
  let seen: Observer;
  beforeAll(async () => {
    server = await startWireServer({ ...(wires[0] as Wire), path: '/v1' });
    board = await startSwitchboard({
      files: {
        'agents/ava.yaml': agent('ava', 'role: general\ntools: [get_projects]\nskills: [{ name: work }]'),
      },
      env: { LLM_GATEWAY_URL: server.url, LLM_API_KEY: 'k', LLM_MODEL: 'qwen2.5:7b' },
    });
    seen = await observe(board);
  });
  afterAll(async () => {
    seen.close();
    await board.stop();
    await server.stop();
  });

  it('says that it waits for a model that is being loaded, and shows what it thinks', async () => {
    const [loading] = loadWire('llamacpp/loading-model').answers;
    const thinking = wires.find((each) => each.expect.reasoning !== undefined) as Wire;
    const waiting = { ...(loading as Wire['answers'][number]), headers: { 'retry-after': '1' } };
    server.play({ ...thinking, answers: [waiting, ...thinking.answers] });
    const message = { role: 'user', messageId: 'm1', parts: [{ kind: 'text', text: thinking.ask }] };
    const params = { message, metadata: { agent: 'ava', skillHint: 'work' } };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'message/stream', params });
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${board.url}/a2a`, { method: 'POST', headers, body });
    const told = await response.text();
    expect(told).toMatch(/is being loaded/);
    expect(told).toMatch(/"reasoning"/);
  });

  it.each(wires)('answers with the words of $name', async (wire) => {
    server.play(wire);
    const payload = { skillHint: 'work', content: wire.ask };
    // Topics are found by how they begin: no id may begin another.
    const correlationId = `${wire.name.replace('/', '-')}-capture`;
    await board.call('/publish', { topic: 'agent.skill.request', payload, correlationId });
    const { payload: answer } = await seen.first(`agent.skill.response.${correlationId}`);
    const [text = '', sources = ''] = (answer.content ?? '').split('\n\nSources:\n');
    expectShown(wire, { text, failure: answer.error });
    const cited = wire.expect.citations ?? [];
    for (const { url } of cited) expect(sources).toContain(url);
    expect(sources === '').toBe(cited.length === 0);
  });
});
