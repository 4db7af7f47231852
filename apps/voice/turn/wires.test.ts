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
    const { body } = await voice.post('/a2a', asking(wire.ask));
    const { status, artifacts } = (body as unknown as Answer).result;
    const said = (parts: { text?: string }[] = []) => parts.map(({ text = '' }) => text).join('');
    expectShown(wire, {
      text: said(artifacts?.[0]?.parts),
      failure: status.state === 'completed' ? undefined : said(status.message?.parts),
    });
  }
  const { tool_calls_by_name: calls } = (await voice.get('/api/metrics')).body;
  expect(calls).toEqual({ calculator: 4 });
});

it('a model that begins within its thoughts says the answer alone', async () => {
  const wire = loadWire('sglang/long-open-thoughts');
  const server = await startWireServer(wire);
  onTestFinished(() => server.stop());
  const voice = await startVoice({ env: { LLM_URL: server.url, LLM_MODEL: wire.model } });
  const { result } = (await voice.post('/a2a', asking(wire.ask))).body as unknown as Answer;
  expect(result.artifacts?.[0]?.parts).toMatchObject([{ text: wire.expect.text }]);
});

function asking(text: string) {
  const message = { role: 'user', parts: [{ kind: 'text', text }] };
  return { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } };
}

interface Answer {
  result: {
    status: { state: string; message?: { parts: { text?: string }[] } };
    artifacts?: { parts: { text?: string }[] }[];
  };
}
