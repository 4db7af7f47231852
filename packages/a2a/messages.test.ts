import { describe, expect, it } from 'vitest';
import { agentsOfThisFile, echo } from './fixtures/agents.ts';
import { type Json, post, rpc, saying, saying10, stream, v10 } from './fixtures/calls.ts';
import type { AgentScript } from './fixtures/start-agent.ts';
import type { ExecutionRequest } from './index.ts';

const startAgent = agentsOfThisFile();

const toolCalls = 'urn:trunkline:a2a:tool-call-v1';
const toolCallType = 'application/vnd.trunkline.tool-call-v1+json';

/** Everything a 1.0 message can hold. */
const full: Json = {
  messageId: 'm-1',
  role: 'ROLE_USER',
  parts: [
    { text: '# Hi', mediaType: 'text/markdown', filename: 'hi.md', metadata: { lang: 'en' } },
    { data: { city: 'Ulm' }, mediaType: 'application/json', metadata: { from: 'form' } },
    { raw: 'aGk=', mediaType: 'text/plain', filename: 'hi.txt', metadata: { page: 1 } },
    { url: 'https://example.com/a.png', mediaType: 'image/png' },
  ],
  metadata: { [toolCalls]: { on: true } },
  extensions: [toolCalls],
  referenceTaskIds: ['earlier-1', 'earlier-2'],
};

/** The same in 0.3, which keeps the type and name of text and data in the metadata. */
const full03: Json = {
  kind: 'message',
  messageId: 'm-1',
  role: 'user',
  parts: [
    {
      kind: 'text',
      text: '# Hi',
      metadata: { mimeType: 'text/markdown', filename: 'hi.md', lang: 'en' },
    },
    { kind: 'data', data: { city: 'Ulm' }, metadata: { mimeType: 'application/json', from: 'form' } },
    {
      kind: 'file',
      file: { bytes: 'aGk=', mimeType: 'text/plain', name: 'hi.txt' },
      metadata: { page: 1 },
    },
    { kind: 'file', file: { uri: 'https://example.com/a.png', mimeType: 'image/png' } },
  ],
  metadata: { [toolCalls]: { on: true } },
  extensions: [toolCalls],
  referenceTaskIds: ['earlier-1', 'earlier-2'],
};

async function startRecorder() {
  const requests: ExecutionRequest[] = [];
  const agent = await startAgent(
    async function* (request) {
      requests.push(request);
      yield { type: 'completed', text: 'ok' };
    },
    {
      card: () => ({
        name: 'All types',
        description: 'Takes anything.',
        version: '1',
        publicUrl: 'http://127.0.0.1',
        skills: [],
        inputModes: ['*/*'],
      }),
    },
  );
  return { agent, requests };
}

describe('a message', () => {
  it('of 1.0 reaches the executor and the history with all it holds, and is whole in 0.3 too', async () => {
    const { agent, requests } = await startRecorder();
    const { result } = await rpc(agent, 'SendMessage', { message: full }, v10);
    const { id, history } = result.task as { id: string; history: Json[] };
    expect(history[0]).toEqual({ ...full, taskId: id, contextId: expect.any(String) });
    const older = await rpc(agent, 'tasks/get', { id });
    expect((older.result.history as Json[])[0]).toMatchObject(full03);
    expect(requests[0]?.message).toMatchObject({
      extensions: [toolCalls],
      referenceTaskIds: ['earlier-1', 'earlier-2'],
      parts: [
        { type: 'text', mediaType: 'text/markdown', name: 'hi.md', metadata: { lang: 'en' } },
        { type: 'data', data: { city: 'Ulm' }, mediaType: 'application/json' },
        { type: 'file', bytes: 'aGk=', name: 'hi.txt', mediaType: 'text/plain', metadata: { page: 1 } },
        { type: 'file', uri: 'https://example.com/a.png', mediaType: 'image/png' },
      ],
    });
  });

  it('of 0.3 comes back as it was sent', async () => {
    const { agent } = await startRecorder();
    const { result } = await rpc(agent, 'message/send', { message: full03 });
    expect((result.history as Json[])[0]).toMatchObject(full03);
  });

  it.each([
    ['without a messageId', { messageId: undefined }, 'message.messageId is missing'],
    ['with an empty messageId', { messageId: '' }, 'message.messageId is missing'],
    ['without a role', { role: undefined }, 'message.role must be ROLE_USER'],
    ['of no role', { role: 'ROLE_UNSPECIFIED' }, 'message.role must be ROLE_USER'],
    ['of the agent', { role: 'ROLE_AGENT' }, 'message.role must be ROLE_USER'],
    ['whose extensions are no list', { extensions: 'urn:x' }, 'extensions must be a list'],
    ['that names no task ids but numbers', { referenceTaskIds: [1] }, 'referenceTaskIds must be a list'],
  ])('%s is refused in 1.0', async (_, fields: Json, words) => {
    const agent = await startAgent(echo);
    const { error } = await rpc(agent, 'SendMessage', saying10('hi', fields), v10);
    expect([error.code, error.message]).toEqual([-32602, expect.stringContaining(words)]);
    const rest = await post(`${agent.url}/message:send`, saying10('hi', fields), v10);
    expect(rest.status).toBe(400);
  });

  it('of 0.3 may leave messageId and role out where it has no kind, and has only kinds of parts that we know', async () => {
    const agent = await startAgent(echo);
    const lenient = await rpc(agent, 'message/send', { message: { parts: [{ text: 'hi' }] } });
    expect(lenient.result.kind).toBe('task');
    // What calls itself a message has all that a message must have (0.3, section 6.4).
    for (const [missing, words] of [
      ['messageId', 'message.messageId is missing'],
      ['role', 'message.role must be user'],
    ] as const) {
      const { error } = await rpc(agent, 'message/send', { message: { ...full03, [missing]: undefined } });
      expect(error).toMatchObject({ code: -32602, message: words });
    }
    for (const part of [{ kind: 'hologram' }, { type: 'hologram' }]) {
      const odd = saying('hi', { parts: [{ ...part, text: 'hi' }] });
      const { error } = await rpc(agent, 'message/send', odd);
      expect(error).toMatchObject({ code: -32602, message: 'the kind of a part must be text, file or data' });
    }
  });
});

describe('acceptedOutputModes', () => {
  const working: AgentScript = async function* (request) {
    yield { type: 'tool-start', toolCallId: 't1', name: 'look', args: {} };
    yield { type: 'tool-end', toolCallId: 't1', name: 'look', result: 'seen' };
    yield {
      type: 'artifact',
      artifactId: 'chart',
      parts: [{ type: 'file', bytes: 'aGk=', mediaType: 'image/png' }],
    };
    yield { type: 'completed', text: (request.acceptedOutputModes ?? ['any']).join(' ') };
  };
  const accepting = (...acceptedOutputModes: string[]) => ({ configuration: { acceptedOutputModes } });
  const artifactsOf = (task: Json) => (task.artifacts as Json[]).map(({ artifactId }) => artifactId);

  it('reach the executor, and what the caller does not take is left out', async () => {
    const agent = await startAgent(working);
    const all = await rpc(agent, 'message/send', saying('go'));
    expect(artifactsOf(all.result)).toEqual(['answer', 'chart']);
    const text = await rpc(agent, 'message/send', saying('go', {}, accepting('text/plain')));
    expect(artifactsOf(text.result)).toEqual(['answer']);
    expect(JSON.stringify(text.result.artifacts)).toContain('text/plain');
    const { result } = await rpc(agent, 'SendMessage', saying10('go', {}, accepting('text', 'image/*')), v10);
    expect(artifactsOf(result.task as Json)).toEqual(['answer', 'chart']);
    const again = await rpc(agent, 'tasks/get', { id: text.result.id });
    expect(artifactsOf(again.result)).toEqual(['answer', 'chart']);
  });

  it('hold for the frames of a stream too', async () => {
    const agent = await startAgent(working);
    const frames = async (...modes: string[]) => {
      const opened = await stream(agent, 'message/stream', saying('go', {}, accepting(...modes)));
      return (await opened.rest()).flatMap(
        ({ artifact }) => (artifact as Json | undefined)?.artifactId ?? [],
      );
    };
    expect(await frames('text/markdown')).toEqual(['answer']);
    expect(await frames('text/plain', toolCallType)).toEqual(['tool-t1', 'tool-t1', 'answer']);
  });

  it('that have nothing in common with the agent are refused in words', async () => {
    const agent = await startAgent(echo);
    const { error } = await rpc(agent, 'SendMessage', saying10('go', {}, accepting('audio/wav')), v10);
    expect([error.code, error.message]).toEqual([
      -32005,
      'Incompatible content types: this agent answers with text/plain, text/markdown; list one of them in acceptedOutputModes',
    ]);
  });
});

describe('extensions that a caller asks for', () => {
  it('are told in the answer and to the executor where the agent has them', async () => {
    const { agent, requests } = await startRecorder();
    const wanted = `urn:unknown, ${toolCalls}`;
    const ask = async (path: string, body: Json, headers: Record<string, string>) => {
      const response = await post(`${agent.url}${path}`, body, headers);
      await response.text();
      return [response.headers.get('a2a-extensions'), response.headers.get('x-a2a-extensions')];
    };
    const call = (method: string, params: Json) => ({ jsonrpc: '2.0', id: 1, method, params });
    const [newer, older] = [{ ...v10, 'a2a-extensions': wanted }, { 'x-a2a-extensions': wanted }];
    expect(await ask('/a2a', call('SendMessage', saying10('x')), newer)).toEqual([toolCalls, null]);
    expect(await ask('/a2a', call('SendStreamingMessage', saying10('x')), newer)).toEqual([toolCalls, null]);
    expect(await ask('/message:send', saying10('x'), newer)).toEqual([toolCalls, null]);
    expect(await ask('/a2a', call('message/send', saying('x')), older)).toEqual([null, toolCalls]);
    expect(requests.map(({ extensions }) => extensions)).toEqual(new Array(4).fill([toolCalls]));
    expect(await ask('/a2a', call('SendMessage', saying10('x')), v10)).toEqual([null, null]);
    expect(requests.at(-1)).not.toHaveProperty('extensions');
  });
});
