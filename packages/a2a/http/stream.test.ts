import diagnosticsChannel from 'node:diagnostics_channel';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { waitFor } from '@trunkline/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { LiveTask } from '../engine/live-task.ts';
import { agentsOfThisFile, asksForName, echo, SteppedAgent } from '../fixtures/agents.ts';
import { type Frame, openStream, outline, rpc, saying, saying10, stream, v10 } from '../fixtures/calls.ts';

const start = agentsOfThisFile();

async function startStepped() {
  const stepped = new SteppedAgent();
  return { stepped, agent: await start(stepped.script) };
}

/** The text that a reader of these frames has in the end. */
function textOf(frames: readonly Frame[]): string {
  let text = '';
  for (const frame of frames) {
    const artifacts = (frame.artifacts ?? [frame.artifact]) as ({ parts: { text: string }[] } | undefined)[];
    const chunk = artifacts[0]?.parts[0]?.text;
    if (chunk !== undefined) text = frame.append === true ? text + chunk : chunk;
  }
  return text;
}

describe('a stream', () => {
  it('says that it must not be buffered or cached', async () => {
    const agent = await start(echo);
    const { response, rest } = await stream(agent, 'message/stream', saying('x'));
    await rest();
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/);
    expect(response.headers.get('cache-control')).toBe('no-cache');
    expect(response.headers.get('x-accel-buffering')).toBe('no');
  });

  it('shows the task before the agent has said anything [A105]', async () => {
    const { agent, stepped } = await startStepped();
    const reader = await stream(agent, 'message/stream', saying('x'));
    expect(await reader.next()).toMatchObject({ kind: 'task', status: { state: 'working' } });
    stepped.step({ type: 'completed', text: 'done' });
    expect(outline(await reader.rest())).toEqual(['artifact-update', 'status-update completed']);
  });

  it('goes on without its reader [A002]', async () => {
    const { agent, stepped } = await startStepped();
    const reader = await stream(agent, 'message/stream', saying('x'));
    const { id } = await reader.next();
    reader.drop();
    stepped.step({ type: 'text-delta', text: 'still ' }, { type: 'completed', text: 'still here' });
    await waitFor(async () => {
      const { result } = await rpc(agent, 'tasks/get', { id });
      return (result.status as { state: string }).state === 'completed';
    });
    expect((await rpc(agent, 'tasks/get', { id })).result).toMatchObject({
      artifacts: [{ parts: [{ text: 'still here' }] }],
    });
  });

  it('reports an error before it opens as plain JSON', async () => {
    const agent = await start(echo);
    expect((await rpc(agent, 'message/stream', {})).error.code).toBe(-32602);
  });
});

describe('a reader that takes nothing for a while', () => {
  it('costs no more than a frame, is not cut off, and gets all of 20 MB in the end', async () => {
    const { agent, stepped } = await startStepped();
    const responses: ServerResponse[] = [];
    const note = (message: unknown) => responses.push((message as { response: ServerResponse }).response);
    diagnosticsChannel.subscribe('http.server.request.start', note);
    onTestFinished(() => void diagnosticsChannel.unsubscribe('http.server.request.start', note));
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'message/stream', params: saying('x') });
    const { host, hostname, port } = new URL(agent.url);
    const socket = connect(Number(port), hostname).pause();
    onTestFinished(() => void socket.destroy());
    const type = `content-type: application/json\r\ncontent-length: ${body.length}`;
    socket.write(`POST /a2a HTTP/1.1\r\nhost: ${host}\r\n${type}\r\n\r\n${body}`);
    await waitFor(() => stepped.asked.length === 1);
    const [response] = responses as [ServerResponse];
    let most = 0;
    const [live] = agent.engine.list({}).tasks.map(({ id }) => agent.engine.find(id)) as [LiveTask];
    for (let count = 1; count <= 80; count += 1) {
      stepped.step({ type: 'progress', text: 'x'.repeat(250_000) });
      await waitFor(() => live.sequence === count, { intervalMs: 1 });
      most = Math.max(most, response.writableLength);
    }
    stepped.step({ type: 'completed', text: 'done' });
    await waitFor(() => live.state === 'completed');
    expect(most).toBeLessThan(1_000_000);
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    socket.resume();
    await waitFor(() => text.endsWith('\r\n0\r\n\r\n'), { timeoutMs: 60_000 });
    const sequences = [...text.matchAll(/^id: (\d+)$/gm)].map(([, sequence]) => Number(sequence));
    expect(sequences).toEqual(Array.from({ length: 83 }, (_, sequence) => sequence));
  });
});

describe('coming back', () => {
  it('gives a snapshot, then only what is new [A133]', async () => {
    const { agent, stepped } = await startStepped();
    const first = await stream(agent, 'message/stream', saying('x'));
    const { id } = await first.next();
    stepped.step({ type: 'text-delta', text: 'one ' }, { type: 'text-delta', text: 'two ' });
    await first.next();
    await first.next();
    const second = await stream(agent, 'tasks/resubscribe', { id });
    const snapshot = await second.next();
    expect(snapshot).toMatchObject({ kind: 'task', id, artifacts: [{ parts: [{ text: 'one two ' }] }] });
    stepped.step({ type: 'text-delta', text: 'three' }, { type: 'completed' });
    const rest = await second.rest();
    expect(outline(rest)).toEqual(['artifact-update', 'artifact-update', 'status-update completed']);
    expect(textOf([snapshot, ...rest])).toBe('one two three');
    expect(await first.rest()).toEqual(rest);
  });

  it('continues after the last event seen, with no gap and no repetition [A133]', async () => {
    const { agent, stepped } = await startStepped();
    const first = await stream(agent, 'message/stream', saying('x'));
    const seen = [await first.next()];
    stepped.step({ type: 'text-delta', text: 'a' });
    seen.push(await first.next());
    first.drop();
    stepped.step({ type: 'text-delta', text: 'b' }, { type: 'progress', text: 'more' });
    await waitFor(() => agent.engine.find(String(seen[0]?.id)).sequence === 3);
    const headers = { 'last-event-id': String(seen.at(-1)?.sequence) };
    const second = await stream(agent, 'tasks/resubscribe', { id: seen[0]?.id }, headers);
    seen.push(await second.next(), await second.next());
    stepped.step({ type: 'text-delta', text: 'c' }, { type: 'completed' });
    seen.push(...(await second.rest()));
    expect(seen.map(({ sequence }) => sequence)).toEqual(['0', '1', '2', '3', '4', '5', '6']);
    expect(textOf(seen)).toBe('abc');
  });

  it('replays a task that has ended from its log, after eviction and a restart too', async () => {
    const agent = await start(echo);
    const frames = await (await stream(agent, 'message/stream', saying('x'))).rest();
    const id = frames[0]?.id;
    const replayed = await stream(agent, 'tasks/resubscribe', { id }, { 'last-event-id': '0' });
    expect(await replayed.rest()).toEqual(frames.slice(1));
    const nothing = await stream(
      agent,
      'tasks/resubscribe',
      { id },
      { 'last-event-id': frames.at(-1)?.sequence ?? '' },
    );
    expect(await nothing.rest()).toEqual([]);
  });

  it('replays a log of any length whole, as a stream like any other', async () => {
    const agent = await start(async function* () {
      for (let count = 0; count < 300; count += 1) yield { type: 'text-delta', text: 'x'.repeat(8000) };
    });
    const { result } = await rpc(agent, 'message/send', saying('go'));
    const replayed = await stream(agent, 'tasks/resubscribe', { id: result.id }, { 'last-event-id': '0' });
    expect(Object.fromEntries(replayed.response.headers)).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
    });
    expect(textOf(await replayed.rest())).toHaveLength(2_400_000);
  });

  it('shows a settled task and ends with a final frame in 0.3', async () => {
    const [done, asking] = [await start(echo), await start(asksForName)];
    const finished = await rpc(done, 'message/send', saying('x'));
    const told = await (await stream(done, 'tasks/resubscribe', { id: finished.result.id })).rest();
    expect(outline(told)).toEqual(['task completed', 'status-update completed']);
    expect(told[1]).toMatchObject({ final: true });
    const parked = await rpc(asking, 'message/send', saying('x'));
    const waiting = await (await stream(asking, 'tasks/resubscribe', { id: parked.result.id })).rest();
    expect(outline(waiting)).toEqual(['task input-required', 'status-update input-required']);
  });

  it('stays open in 1.0 over a question until the task ends', async () => {
    const asking = await start(asksForName);
    const { result } = await rpc(asking, 'SendMessage', saying10('hi'), v10);
    const { id } = result.task as { id: string };
    const readers = await Promise.all([1, 2].map(() => stream(asking, 'SubscribeToTask', { id }, v10)));
    for (const reader of readers) {
      expect(await reader.next()).toMatchObject({ task: { status: { state: 'TASK_STATE_INPUT_REQUIRED' } } });
    }
    readers[0]?.drop();
    await rpc(asking, 'SendMessage', saying10('Ada', { taskId: id }), v10);
    const rest = (await readers[1]?.rest()) ?? [];
    expect(rest.map((frame) => Object.keys(frame)[0])).toEqual([
      'statusUpdate',
      'artifactUpdate',
      'statusUpdate',
    ]);
    expect(rest.at(-1)).toMatchObject({ statusUpdate: { status: { state: 'TASK_STATE_COMPLETED' } } });
  });

  it('shows every reader the same frames to the end', async () => {
    const { agent, stepped } = await startStepped();
    const first = await stream(agent, 'message/stream', saying('x'));
    const { id } = await first.next();
    const others = await Promise.all([1, 2, 3].map(() => stream(agent, 'tasks/resubscribe', { id })));
    for (const reader of others) await reader.next();
    stepped.step({ type: 'text-delta', text: 'hi' }, { type: 'completed' });
    const expected = await first.rest();
    for (const reader of others) expect(await reader.rest()).toEqual(expected);
  });

  it('tells readers of a task that is cancelled [A109]', async () => {
    const { agent } = await startStepped();
    const reader = await stream(agent, 'message/stream', saying('x'));
    const { id } = await reader.next();
    expect((await rpc(agent, 'tasks/cancel', { id })).result).toMatchObject({
      status: { state: 'canceled' },
    });
    expect(outline(await reader.rest())).toEqual(['status-update canceled']);
  });
});

describe('origins [A151] [A042]', () => {
  const params = saying('x');

  async function statusFor(allowedOrigins: string[], origin?: string): Promise<number> {
    const agent = await start(echo, { allowedOrigins });
    const headers = origin === undefined ? {} : { origin };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'message/stream', params });
    const statuses = await Promise.all(
      ['/a2a', '/message:stream'].map(async (path) => {
        const response = await fetch(`${agent.url}${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', ...headers },
          body: path === '/a2a' ? body : JSON.stringify(params),
        });
        await response.text();
        return response.status;
      }),
    );
    expect(new Set(statuses).size).toBe(1);
    return statuses[0] ?? 0;
  }

  it('lets listed origins in without regard to case and blanks', async () => {
    expect(await statusFor([' HTTPS://Console.Example '], 'https://console.example')).toBe(200);
    expect(await statusFor(['https://console.example'], 'https://CONSOLE.example')).toBe(200);
  });

  it('refuses others, and those that name none', async () => {
    expect(await statusFor(['https://console.example'], 'https://evil.example')).toBe(403);
    expect(await statusFor(['https://console.example'])).toBe(403);
  });

  it('lets everyone in with a star or without a list, which is warned about', async () => {
    expect(await statusFor(['*'], 'https://evil.example')).toBe(200);
    expect(await statusFor(['*'])).toBe(200);
    expect(await statusFor([])).toBe(200);
    const warnings = async (allowedOrigins: string[]) =>
      (await start(echo, { allowedOrigins })).logger.lines.filter(({ message }) =>
        message.includes('A2A_ALLOWED_ORIGINS'),
      );
    expect(await warnings([])).toHaveLength(1);
    expect(await warnings(['*'])).toHaveLength(0);
  });

  it('concerns streams only', async () => {
    const agent = await start(echo, { allowedOrigins: ['https://console.example'] });
    expect((await rpc(agent, 'message/send', saying('x'))).result.kind).toBe('task');
    const refused = await fetch(`${agent.url}/tasks/abc:subscribe`, { method: 'POST' });
    expect(refused.status).toBe(403);
    expect(await refused.json()).toEqual({ detail: expect.any(String) });
    const headers = { origin: 'https://console.example' };
    const opened = await openStream(
      `${agent.url}/message:stream`,
      { method: 'POST', body: JSON.stringify(params) },
      headers,
    );
    expect(outline(await opened.rest()).at(-1)).toBe('status-update completed');
  });
});
