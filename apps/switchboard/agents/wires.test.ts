import { expectShown, loadWire, startWireServer, type Wire, type WireServer } from '@trunkline/testing';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { agent } from '../fixtures/crew.ts';
import { type Observer, observe } from '../fixtures/observe.ts';
import { startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';

const names = [
  'openrouter/plain',
  'gemini/role-model',
  'tgi/whole-json',
  'ollama/think-tags',
  'vllm/reasoning',
  'mistral/thinking-parts',
  'ollama/empty-answer',
  'ollama/empty-for-good',
  'openai/content-filter',
  'bedrock/detail-words',
  'vllm/flat-error-in-stream',
  'ollama/does-not-support-tools',
];
const wires = names.map(loadWire);

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

  it.each(wires)('answers with the words of $name', async (wire) => {
    server.play(wire);
    const payload = { skillHint: 'work', content: wire.ask };
    const correlationId = wire.name.replace('/', '-');
    await board.call('/publish', { topic: 'agent.skill.request', payload, correlationId });
    const { payload: answer } = await seen.first(`agent.skill.response.${correlationId}`);
    expectShown(wire, { text: answer.content ?? '', failure: answer.error });
  });
});
