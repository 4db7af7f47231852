import { readSse } from '@trunkline/http';
import {
  earlierMessages,
  expectShown,
  loadDoorCases,
  outcomeOf,
  startDoorGateway,
  temporaryDirectory,
} from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { startVoice } from '../voice.suite.ts';

/** One service for all, as starting it takes longer than all the turns. */
it('a turn says the words of every gateway and nothing else', async () => {
  const home = temporaryDirectory();
  onTestFinished(() => home.remove());
  const gateway = await startDoorGateway(home.path);
  onTestFinished(() => gateway.server.stop());
  const voice = await startVoice({ home: home.path });
  const calculations = async () =>
    Number((await voice.get('/api/metrics')).body.tool_calls_by_name?.calculator ?? 0);

  async function ask(text: string, contextId?: string) {
    const body = JSON.stringify({ ...asking(text, contextId), method: 'message/stream' });
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${voice.url}/a2a`, { method: 'POST', headers, body });
    const frames: Frame[] = [];
    for await (const { data } of readSse(response.body as AsyncIterable<Uint8Array>))
      frames.push(JSON.parse(data).result);
    const said = (parts: { text?: string }[] = []) => parts.map(({ text = '' }) => text).join('');
    const last = frames.at(-1)?.status;
    const artifacts = frames.flatMap(({ artifact }) => artifact ?? []);
    const notes = frames.flatMap(({ status }) =>
      status?.state === 'working' ? [said(status.message?.parts)] : [],
    );
    // Files cannot be handed on by voice, which says so behind the answer.
    const [answer = '', ...lost] = artifacts
      .map(({ parts }) => said(parts))
      .join('')
      .split(/\n\n(?=The model made )/);
    return {
      text: answer,
      failure: last?.state === 'completed' ? undefined : said(last?.message?.parts),
      notes: [...notes, ...lost].filter((note) => note !== '' && !note.startsWith('Tool ')),
      contextId: frames[0]?.contextId,
    };
  }

  const outcomes: Record<string, string> = {};
  const cases = loadDoorCases('voice');
  for (const { name, wire } of cases) {
    await gateway.open(wire);
    const earlier: string[] = [];
    let contextId: string | undefined;
    for (const text of earlierMessages(wire)) {
      gateway.fill(wire);
      const filled = await ask(text, contextId);
      expect(filled.failure, name).toBeUndefined();
      contextId = filled.contextId;
      earlier.push(...filled.notes);
    }
    gateway.play(wire);
    const before = await calculations();
    const got = await ask(wire.ask, contextId);
    expectShown(wire, got);
    const runs = (await calculations()) - before;
    outcomes[name] = outcomeOf(wire, { ...got, runs, notes: [...earlier, ...got.notes] });
  }
  expect(outcomes).toEqual(Object.fromEntries(cases.map(({ name, outcome }) => [name, outcome])));
});

function asking(text: string, contextId?: string) {
  const message = { role: 'user', parts: [{ kind: 'text', text }], ...(contextId && { contextId }) };
  return { jsonrpc: '2.0', id: 1, method: 'message/send', params: { message } };
}

interface Frame {
  contextId?: string;
  status?: { state: string; message?: { parts: { text?: string }[] } };
  artifact?: { parts: { text?: string }[] };
}
