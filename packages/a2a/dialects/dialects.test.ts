import { beforeAll, describe, expect, it } from 'vitest';
import { agentsOfThisFile, asksForName } from '../fixtures/agents.ts';
import { type Json, outline, rpc, saying, saying10, stream, v10 } from '../fixtures/calls.ts';
import type { TestAgent } from '../fixtures/start-agent.ts';

const start = agentsOfThisFile();
let agent: TestAgent;
let asking: TestAgent;

const usage = { inputTokens: 1200, outputTokens: 340, totalTokens: 1540, costUsd: 0.25 };

beforeAll(async () => {
  asking = await start(asksForName);
  agent = await start(async function* ({ text, metadata }) {
    yield { type: 'progress', text: 'thinking' };
    yield { type: 'tool-start', toolCallId: 'call-1', name: 'search', args: { query: text } };
    yield { type: 'tool-end', toolCallId: 'call-1', name: 'search', result: 'x'.repeat(2000), failed: true };
    yield { type: 'text-delta', text: 'Hello' };
    yield { type: 'text-delta', text: ' there' };
    yield {
      type: 'artifact',
      name: 'note',
      parts: [{ type: 'file', bytes: 'aGk=', name: 'a.txt', mediaType: 'text/plain' }],
    };
    yield { type: 'usage', usage };
    yield {
      type: 'completed',
      text: `Hello there${metadata.skill === undefined ? '' : `, ${metadata.skill}`}`,
    };
  });
});

describe('0.3', () => {
  it('answers message/send with the task, its usage and its duration [A130] [A015] [A016] [A017] [A018] [A019] [A020]', async () => {
    const { result } = await rpc(agent, 'message/send', saying('hi', {}, { metadata: { skill: 'greet' } }));
    expect(result).toMatchObject({
      kind: 'task',
      id: expect.any(String),
      contextId: expect.any(String),
      status: { state: 'completed', timestamp: expect.stringMatching(/^\d{4}-.*Z$/) },
      data: {
        usage: { input_tokens: 1200, output_tokens: 340, total_tokens: 1540, cost_usd: 0.25 },
        durationMs: expect.any(Number),
      },
      history: [{ kind: 'message', role: 'user', parts: [{ kind: 'text', text: 'hi' }] }],
    });
    expect(result.artifacts).toMatchObject([
      { parts: [{ kind: 'text', text: 'Hello there, greet' }] },
      {
        name: 'note',
        parts: [{ kind: 'file', file: { bytes: 'aGk=', name: 'a.txt', mimeType: 'text/plain' } }],
      },
    ]);
  });

  it('takes the smallest message, without id and kind [A009] [A010] [A011] [A013] [A014]', async () => {
    const params = {
      contextId: 'ctx-1',
      message: {
        role: 'user',
        parts: [{ text: 'plain' }],
        metadata: { scheduler_job_id: 'job', channel: 'a2a' },
      },
    };
    const { result } = await rpc(agent, 'message/send', params);
    expect(result.contextId).toBe('ctx-1');
    expect(result.history).toMatchObject([
      { messageId: expect.any(String), metadata: { scheduler_job_id: 'job', channel: 'a2a' } },
    ]);
  });

  it('has a kind on every frame, the task first and the last one final [A131] [A153] [A105]', async () => {
    for (const method of ['message/stream', 'message/sendStream']) {
      const frames = await (await stream(agent, method, saying('hi'))).rest();
      expect(outline(frames)).toEqual([
        'task working',
        'status-update working',
        'status-update working',
        'artifact-update',
        'status-update working',
        'artifact-update',
        'artifact-update',
        'artifact-update',
        'artifact-update',
        'artifact-update',
        'status-update completed',
      ]);
      expect(frames.filter((frame) => frame.final === true)).toHaveLength(1);
      expect(frames.at(-1)).toMatchObject({ final: true, metadata: { usage: { total_tokens: 1540 } } });
      expect(frames.at(-2)).toMatchObject({ lastChunk: true });
    }
  });

  it('streams only the new text of the answer', async () => {
    const frames = await (
      await stream(agent, 'message/stream', saying('hi', {}, { metadata: { skill: 'x' } }))
    ).rest();
    const chunks = frames.flatMap((frame) => {
      const artifact = frame.artifact as { artifactId: string; parts: Json[] } | undefined;
      return artifact?.artifactId === 'answer' ? [[artifact.parts[0]?.text, frame.append]] : [];
    });
    expect(chunks).toEqual([
      ['Hello', false],
      [' there', true],
      [', x', true],
    ]);
  });

  it('tells tools as progress and as structured frames with short previews [A154]', async () => {
    const frames = await (await stream(agent, 'message/stream', saying('hi'))).rest();
    const progress = frames.flatMap((frame) => {
      const status = frame.status as { message?: { parts: Json[] } } | undefined;
      return frame.kind === 'status-update' ? [status?.message?.parts[0]?.text] : [];
    });
    expect(progress.slice(1, 3)).toEqual(['Tool search started', 'Tool search failed']);
    const calls = frames.flatMap((frame) => {
      const artifact = frame.artifact as
        | { parts: { kind: string; data: Json; metadata: Json }[] }
        | undefined;
      const [part] = artifact?.parts ?? [];
      return part?.kind === 'data' ? [part] : [];
    });
    expect(calls.map(({ metadata }) => metadata.mimeType)).toEqual([
      'application/vnd.trunkline.tool-call-v1+json',
      'application/vnd.trunkline.tool-call-v1+json',
    ]);
    expect(calls[0]?.data).toEqual({
      toolCallId: 'call-1',
      name: 'search',
      phase: 'started',
      args: { query: 'hi' },
    });
    expect(calls[1]?.data).toMatchObject({ phase: 'failed' });
    expect(String(calls[1]?.data.result)).toHaveLength(800);
  });

  it('closes the stream at a question and goes on with the answer [A106] [A107] [A018]', async () => {
    const asked = await (await stream(asking, 'message/stream', saying('hi'))).rest();
    expect(outline(asked)).toEqual(['task working', 'status-update input-required']);
    expect(asked[1]).toMatchObject({
      final: true,
      status: {
        message: { kind: 'message', role: 'agent', parts: [{ kind: 'text', text: 'What is your name?' }] },
      },
    });
    const answer = saying('Ada', { taskId: asked[0]?.id, contextId: asked[0]?.contextId });
    const told = await (await stream(asking, 'message/stream', answer)).rest();
    expect(outline(told)).toEqual(['task working', 'artifact-update', 'status-update completed']);
    expect(told[0]?.id).toBe(asked[0]?.id);
  });

  it('returns at once when asked not to block, and limits the history when asked', async () => {
    const waiting = await start(async function* (_request, signal) {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      yield { type: 'completed' };
    });
    const { result } = await rpc(
      waiting,
      'message/send',
      saying('x', {}, { configuration: { blocking: false } }),
    );
    expect(result.status).toMatchObject({ state: 'working' });
    const none = await rpc(agent, 'message/send', saying('x', {}, { configuration: { historyLength: 0 } }));
    expect(none.result.history).toEqual([]);
    const parked = await rpc(asking, 'message/send', saying('x'));
    await rpc(asking, 'message/send', saying('Ada', { taskId: parked.result.id }));
    const one = await rpc(asking, 'tasks/get', { id: parked.result.id, historyLength: 1 });
    expect(one.result.history).toMatchObject([{ parts: [{ text: 'Ada' }] }]);
    const all = await rpc(asking, 'tasks/get', { id: parked.result.id });
    expect(all.result.history).toHaveLength(3);
  });
});

describe('1.0', () => {
  it('wraps the task, spells states and roles as protocol buffers do, and has no kind', async () => {
    const { result } = await rpc(agent, 'SendMessage', saying10('hi'), v10);
    const task = result.task as Json;
    expect(task).toMatchObject({
      status: { state: 'TASK_STATE_COMPLETED' },
      history: [{ role: 'ROLE_USER', parts: [{ text: 'hi' }] }],
      metadata: { usage, durationMs: expect.any(Number) },
      artifacts: [
        { parts: [{ text: 'Hello there' }] },
        { parts: [{ raw: 'aGk=', filename: 'a.txt', mediaType: 'text/plain' }] },
      ],
    });
    expect(JSON.stringify(result)).not.toContain('"kind"');
    expect(JSON.stringify(result)).not.toMatch(/"[a-z]+_[a-z_]+":/);
    expect((await rpc(agent, 'GetTask', { id: task.id }, v10)).result).toEqual(task);
  });

  it('streams task, updates and nothing that only 0.3 has', async () => {
    const frames = await (await stream(agent, 'SendStreamingMessage', saying10('hi'), v10)).rest();
    expect(frames.map((frame) => Object.keys(frame).find((key) => key !== 'sequence'))).toEqual([
      'task',
      ...[
        'statusUpdate',
        'statusUpdate',
        'artifactUpdate',
        'statusUpdate',
        'artifactUpdate',
        'artifactUpdate',
      ],
      ...['artifactUpdate', 'artifactUpdate', 'artifactUpdate', 'statusUpdate'],
    ]);
    expect(JSON.stringify(frames)).not.toMatch(/"(kind|final)"/);
    expect(frames.at(-1)).toMatchObject({ statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } });
  });

  it('answers with a plain message when the agent does, alone in its stream', async () => {
    const brief = await start(async function* () {
      yield { type: 'message', parts: [{ type: 'text', text: 'just this' }] };
    });
    const { result } = await rpc(brief, 'SendMessage', saying10('hi'), v10);
    expect(result).toMatchObject({ message: { role: 'ROLE_AGENT', parts: [{ text: 'just this' }] } });
    const frames = await (await stream(brief, 'SendStreamingMessage', saying10('hi'), v10)).rest();
    expect(frames).toMatchObject([{ message: { parts: [{ text: 'just this' }] } }]);
    const old = await (await stream(brief, 'message/stream', saying('hi'))).rest();
    expect(outline(old)).toEqual(['message']);
  });

  it('lists tasks by filter with what was asked for', async () => {
    const contextId = crypto.randomUUID();
    await rpc(agent, 'SendMessage', saying10('one', { contextId }), v10);
    await rpc(agent, 'SendMessage', saying10('two', { contextId }), v10);
    const { result } = await rpc(agent, 'ListTasks', { contextId, pageSize: 1 }, v10);
    expect(result).toMatchObject({ totalSize: 2, pageSize: 1, nextPageToken: expect.stringMatching(/./) });
    expect((result.tasks as Json[])[0]).not.toHaveProperty('artifacts');
    const rest = await rpc(
      agent,
      'ListTasks',
      { contextId, pageToken: result.nextPageToken, includeArtifacts: true, historyLength: 0 },
      v10,
    );
    expect(rest.result).toMatchObject({ nextPageToken: '' });
    expect((rest.result.tasks as Json[])[0]).toHaveProperty('artifacts');
    expect((rest.result.tasks as Json[])[0]).not.toHaveProperty('history');
    const working = await rpc(agent, 'ListTasks', { contextId, status: 'TASK_STATE_SUBMITTED' }, v10);
    expect(working.result).toMatchObject({ tasks: [], totalSize: 0, nextPageToken: '' });
    for (const wrong of [
      { status: 'x' },
      { pageSize: 0 },
      { pageToken: '!' },
      { statusTimestampAfter: 'soon' },
    ]) {
      expect((await rpc(agent, 'ListTasks', wrong, v10)).error.code).toBe(-32602);
    }
  });

  it('returns at once when asked to', async () => {
    const slow = await start(async function* (_request, signal) {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      yield { type: 'completed' };
    });
    const params = saying10('x', {}, { configuration: { returnImmediately: true } });
    const { result } = await rpc(slow, 'SendMessage', params, v10);
    expect(result).toMatchObject({ task: { status: { state: 'TASK_STATE_WORKING' } } });
    const canceled = await rpc(slow, 'CancelTask', { id: (result.task as Json).id }, v10);
    expect(canceled.result).toMatchObject({ status: { state: 'TASK_STATE_CANCELED' } });
  });

  it('has states for what needs credentials and for what is refused', async () => {
    const picky = await start(async function* ({ text }) {
      if (text === 'sign') yield { type: 'input-required', question: 'Sign in', authorization: true };
      else yield { type: 'rejected', message: 'not today' };
    });
    expect((await rpc(picky, 'SendMessage', saying10('sign'), v10)).result).toMatchObject({
      task: { status: { state: 'TASK_STATE_AUTH_REQUIRED' } },
    });
    expect((await rpc(picky, 'message/send', saying('no'))).result).toMatchObject({
      status: { state: 'rejected' },
    });
  });
});
