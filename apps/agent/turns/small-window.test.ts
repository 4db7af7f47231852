import {
  type ChatRequestBody,
  type ModelServer,
  type ScriptedReply,
  startModelServer,
} from '@trunkline/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { answerText, modelEnvironment, startAgent, type TestAgent } from '../fixtures/start-agent.ts';

/** An agent whose model takes 4,096 tokens, at an endpoint that refuses more. */
const window = 4096;
let model: ModelServer;
let agent: TestAgent;
let reply: (request: ChatRequestBody) => ScriptedReply = () => 'Fine.';
let refused = 0;

beforeAll(async () => {
  model = await startModelServer({
    contextTokens: window,
    script(request) {
      const input = Math.ceil(JSON.stringify([request.messages, request.tools]).length / 3.6);
      if (input > window) refused += 1;
      if (input > window) return { fault: 'status', status: 400, message: 'prompt is too long' };
      const answer = reply(request);
      return typeof answer === 'string' ? { text: answer, usage: { input, output: 9 } } : answer;
    },
  });
  agent = await startAgent({ env: modelEnvironment(model.url) });
});
afterAll(async () => {
  await agent.stop();
  await model.stop();
});

const rightTools: [query: string, tool: string][] = [
  ['what time is it in Tokyo', 'current_time'],
  ['current date', 'current_time'],
  ['evaluate an arithmetic expression', 'calculator'],
  ['calculate a power', 'calculator'],
  ['search the web', 'web_search'],
  ['look something up on the web', 'web_search'],
  ['read a web page', 'fetch_url'],
  ['fetch a PDF from an address', 'fetch_url'],
  ['list my notes', 'notes_list'],
  ['read the notes', 'notes_read'],
  ['write to the notes', 'notes_write'],
  ['undo a change of the notes, earlier version', 'notes_revert'],
  ['remember something for later', 'memory_ingest'],
  ['store in memory', 'memory_ingest'],
  ['recall what was stored earlier', 'memory_recall'],
  ['count what is in memory', 'memory_stats'],
  ['add to the daily log', 'daily_log'],
  ['create an issue on the task board', 'beads_create'],
  ['list open issues', 'beads_list'],
  ['update an issue', 'beads_update'],
  ['close an issue', 'beads_close'],
  ['check the inbox', 'check_inbox'],
  ['schedule a reminder', 'schedule_task'],
  ['run a prompt later', 'schedule_task'],
  ['list scheduled jobs', 'list_schedules'],
  ['cancel a scheduled job', 'cancel_schedule'],
  ['list a directory', 'list_dir'],
  ['read a file', 'read_file'],
  ['find files by name', 'find_files'],
  ['search text in files', 'search_files'],
  ['write a file', 'write_file'],
  ['replace text in a file', 'edit_file'],
  ['set a goal', 'set_goal'],
  ['ask the person a question', 'ask_human'],
  ['show a form', 'request_user_input'],
  ['hand work to a helper', 'task'],
  ['several pieces of work at once', 'task_batch'],
];

const toolResults = () =>
  (model.chats().at(-1)?.messages ?? [])
    .filter(({ role }) => role === 'tool')
    .map(({ content }) => String(content));

it('offers a few tools, and find_tools finds the right one of the others first', async () => {
  const found: (string | undefined)[] = [];
  for (let start = 0; start < rightTools.length; start += 4) {
    const queries = rightTools.slice(start, start + 4).map(([query]) => query);
    reply = ({ messages }) =>
      messages.at(-1)?.role === 'tool'
        ? 'Done.'
        : { toolCalls: queries.map((query) => ({ name: 'find_tools', arguments: { query } })) };
    await agent.send('Show what you can do.');
    found.push(...toolResults().map((result) => /^- (\w+)/m.exec(result)?.[1]));
  }
  expect(found).toEqual(rightTools.map(([, tool]) => tool));
  const offered = model.chats()[0]?.tools ?? [];
  expect(offered.length).toBeLessThan(15);
  expect(JSON.stringify(offered).length).toBeLessThan(window * 0.9);
});

it('goes on for fifty messages with tools, and says when it summarised', async () => {
  reply = ({ messages }) =>
    messages.at(-1)?.role === 'tool' || !/time/.test(JSON.stringify(messages.at(-1)))
      ? 'It is as it was. '.repeat(30)
      : { toolCalls: [{ name: 'current_time', arguments: {} }] };
  const stream = async (text: string, more: object = {}) => {
    const message = {
      role: 'user',
      messageId: crypto.randomUUID(),
      parts: [{ kind: 'text', text }],
      ...more,
    };
    const response = await agent.fetch('/a2a', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'message/stream', params: { message } }),
    });
    return await response.text();
  };
  const [, contextId = ''] = /"contextId":"([^"]+)"/.exec(await stream('word '.repeat(1500))) ?? [];
  let notes = 0;
  for (let count = 0; count < 49; count += 1) {
    const asked = count % 5 === 0 ? 'what time is it?' : 'go on.';
    const events = await stream(`Number ${count}: ${asked}`, { contextId });
    expect(events).toContain('"state":"completed"');
    if (events.includes("Earlier messages were summarised to fit the model's context")) notes += 1;
  }
  expect(notes).toBeGreaterThan(0);
  expect(refused).toBe(0);
});

it('answers a long conversation of the OpenAI API, and one message that is too long with an error', async () => {
  const ask = (messages: object[]) =>
    agent.fetch('/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'agent', messages }),
    });
  reply = () => 'Still here.';
  const long = Array.from({ length: 60 }, (_, index) => ({
    role: index % 2 === 0 ? 'user' : 'assistant',
    content: `${index} ${'and so on '.repeat(40)}`,
  }));
  const answer = await ask([...long, { role: 'user', content: 'Are you there?' }]);
  expect(await answer.json()).toMatchObject({ choices: [{ message: { content: 'Still here.' } }] });
  const failed = await ask([{ role: 'user', content: 'word '.repeat(12_000) }]);
  expect(failed.status).toBe(502);
  expect(await failed.text()).toMatch(/takes 4,096 .*LLM_CONTEXT_TOKENS/);
});

it('marks usage that the endpoint does not report as an estimate', async () => {
  reply = () => ({ text: 'Hello.', usage: { input: 0, output: 0 } });
  const task = await agent.send('Hello.');
  expect(task.data?.usage).toMatchObject({ estimated: true });
  expect(task.data?.usage?.input_tokens).toBeGreaterThan(500);
  expect(answerText(task)).toBe('Hello.');
});
