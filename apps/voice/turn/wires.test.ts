import { expectShown, loadWire, startWireServer, type Wire } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { startVoice } from '../voice.suite.ts';

/** What would be heard: thoughts and markup read aloud, calls that do nothing, silence. */
const names = [
  'openrouter/plain',
  'tgi/whole-json',
  'ollama/think-tags',
  'ollama/empty-think-tags',
  'vllm/reasoning',
  'mistral/thinking-parts',
  'ollama/tool-call-tags-in-text',
  'lmstudio/json-fence-tool-call',
  'vllm/python-tag-in-text',
  'tgi/arguments-as-object',
  'ollama/empty-answer',
  'ollama/thoughts-only',
  'openai/content-filter',
  'bedrock/detail-words',
  'ollama/does-not-support-tools',
];

it('a turn says the words of a gateway and nothing else', async () => {
  const wires = names.map(loadWire);
  const server = await startWireServer({ ...(wires[0] as Wire), path: '/v1' });
  onTestFinished(() => server.stop());
  const voice = await startVoice({ env: { LLM_URL: server.url, LLM_MODEL: 'qwen2.5:7b' } });
  for (const wire of wires) {
    server.play(wire);
    const message = { role: 'user', parts: [{ kind: 'text', text: wire.ask }] };
    const request = { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } };
    const { status, artifacts } = ((await voice.post('/a2a', request)).body as unknown as Answer).result;
    const said = (parts: { text?: string }[] = []) => parts.map(({ text = '' }) => text).join('');
    expectShown(wire, {
      text: said(artifacts?.[0]?.parts),
      failure: status.state === 'completed' ? undefined : said(status.message?.parts),
    });
  }
  const { tool_calls_by_name: calls } = (await voice.get('/api/metrics')).body;
  expect(calls).toEqual({ calculator: 4 });
});

interface Answer {
  result: {
    status: { state: string; message?: { parts: { text?: string }[] } };
    artifacts?: { parts: { text?: string }[] }[];
  };
}
