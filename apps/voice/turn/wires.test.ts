import { expectShown, loadWire, loadWiresForAnyModel, startWireServer, type Wire } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { startVoice } from '../voice.suite.ts';

it('a turn says the words of a gateway and nothing else', { timeout: 240_000 }, async () => {
  const wires = [...loadWiresForAnyModel(), loadWire('ollama/does-not-support-tools')];
  const server = await startWireServer({ ...(wires[0] as Wire), path: '/v1' });
  onTestFinished(() => server.stop());
  const voice = await startVoice({ env: { LLM_URL: server.url, LLM_MODEL: 'qwen2.5:7b' } });
  const calculations = async () =>
    Number((await voice.get('/api/metrics')).body.tool_calls_by_name?.calculator ?? 0);
  for (const wire of wires) {
    const before = await calculations();
    server.play(wire);
    const { body } = await voice.post('/a2a', asking(wire.ask));
    const { status, artifacts } = (body as unknown as Answer).result;
    const said = (parts: { text?: string }[] = []) => parts.map(({ text = '' }) => text).join('');
    expectShown(wire, {
      text: said(artifacts?.[0]?.parts),
      failure: status.state === 'completed' ? undefined : said(status.message?.parts),
    });
    const { calls = [], runsAtMost = calls.length } = wire.expect;
    const runs = (await calculations()) - before;
    expect([runs >= calls.length, runs <= runsAtMost], wire.name).toEqual([true, true]);
  }
});

it('a model that begins within its thoughts says the answer alone', async () => {
  const wire = loadWire('sglang/long-open-thoughts');
  const server = await startWireServer(wire);
  onTestFinished(() => server.stop());
  const voice = await startVoice({ env: { LLM_URL: server.url, LLM_MODEL: wire.model } });
  const { result } = (await voice.post('/a2a', asking(wire.ask))).body as unknown as Answer;
  expect(result.artifacts?.[0]?.parts).toMatchObject([{ text: wire.expect.text }]);
});

it('tells another agent that it waits for a model that is being loaded', async () => {
  const wire = loadWire('llamacpp/loading-model');
  const [loading, ready] = [wire.answers.slice(0, 1), wire.answers.slice(-1)];
  const soon = loading.map((answer) => ({ ...answer, headers: { 'retry-after': '1' } }));
  const answers = [...soon, ...ready];
  const server = await startWireServer({ ...wire, answers });
  onTestFinished(() => server.stop());
  const voice = await startVoice({ env: { LLM_URL: server.url, LLM_MODEL: wire.model } });
  const body = JSON.stringify({ ...asking(wire.ask), method: 'message/stream' });
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${voice.url}/a2a`, { method: 'POST', headers, body });
  expect(await response.text()).toMatch(/is being loaded[\s\S]*"Hello"/);
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
