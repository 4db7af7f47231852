// An OpenAI-compatible gateway that costs the side under test what a real one does: node bench/agent/fake-gateway.ts
// Prints its address (…/v1). A prompt that ends with words of the user is answered by a call of a tool (`calculator` where
// it is offered, else the first), one that ends with a tool's result by 60 words, or by 4 where the question says "briefly";
// a chunk for each word, each sent alone.
// `FAKE_GATEWAY_TOOL` names another tool, `FAKE_GATEWAY_ARGUMENTS` its arguments as JSON, `FAKE_GATEWAY_PORT` a port.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { setImmediate as nextTurn } from 'node:timers/promises';

const { FAKE_GATEWAY_TOOL, FAKE_GATEWAY_ARGUMENTS, FAKE_GATEWAY_PORT } = process.env;
const tool = FAKE_GATEWAY_TOOL ?? 'calculator';
const toolArguments = FAKE_GATEWAY_ARGUMENTS ?? '{"expression":"12 * 34"}';
const answer =
  'The result is 408. I multiplied 12 by 34 with the calculator: ten times 34 is 340, two times 34 is 68, and together they make 408. ' +
  'If you want to check it by hand, split the other factor instead: 12 times 30 is 360, 12 times 4 is 48, and the sum is 408 again.';

const briefAnswer = 'The result is 408.';

interface ChatRequest {
  model: string;
  stream?: boolean;
  messages: { role: string; content?: unknown }[];
  tools?: { function: { name: string } }[];
}

type Delta = Record<string, unknown>;

let requests = 0;
const server = createServer((request, response) => {
  reply(request, response).catch((error: Error) => response.destroy(error));
});
server.listen(Number(FAKE_GATEWAY_PORT ?? 0), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`);
});
process.on('SIGTERM', () => process.exit(0));

async function reply(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url === '/v1/models') return send(response, { object: 'list', data: [model] });
  if (request.url !== '/v1/chat/completions')
    return send(response, { error: { message: 'Not found', type: 'invalid_request_error' } }, 404);
  const chat = (await json(request)) as ChatRequest;
  requests += 1;
  const calls = chat.messages.at(-1)?.role === 'user' && (chat.tools?.length ?? 0) > 0;
  const text = isBrief(chat) ? briefAnswer : answer;
  const head = {
    id: `chatcmpl-${requests}`,
    created: Math.floor(Date.now() / 1000),
    model: chat.model,
    system_fingerprint: 'fp_44709d6fcb',
  };
  const usage = { prompt_tokens: 1200, completion_tokens: 70, total_tokens: 1270 };
  const reason = calls ? 'tool_calls' : 'stop';
  if (!chat.stream) {
    const message = { role: 'assistant', content: calls ? null : text, ...(calls && wholeCall(chat)) };
    const choices = [{ index: 0, message, logprobs: null, finish_reason: reason }];
    return send(response, { ...head, object: 'chat.completion', choices, usage });
  }
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
  });
  const write = (fields: object) => {
    const chunk = { ...head, object: 'chat.completion.chunk', ...fields };
    response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    return nextTurn();
  };
  for (const delta of calls ? callDeltas(chat) : textDeltas(text))
    await write({ choices: [{ index: 0, delta, logprobs: null, finish_reason: null }] });
  await write({ choices: [{ index: 0, delta: {}, logprobs: null, finish_reason: reason }] });
  await write({ choices: [], usage });
  response.end('data: [DONE]\n\n');
}

/** As vLLM lists a model, so that its window is known. */
const model = {
  id: 'bench-model',
  object: 'model',
  created: 1_700_000_000,
  owned_by: 'bench',
  max_model_len: 131_072,
};

function isBrief({ messages }: ChatRequest): boolean {
  const question = messages.findLast(({ role }) => role === 'user');
  return JSON.stringify(question?.content ?? '').includes('briefly');
}

function* textDeltas(text: string): Generator<Delta> {
  yield { role: 'assistant', content: '', refusal: null };
  for (const [content] of text.matchAll(/\s?\S+/g)) yield { content };
}

function* callDeltas(chat: ChatRequest): Generator<Delta> {
  const [call] = wholeCall(chat).tool_calls;
  const opened = { index: 0, ...call, function: { ...call.function, arguments: '' } };
  yield { role: 'assistant', content: null, tool_calls: [opened], refusal: null };
  for (const [piece] of call.function.arguments.matchAll(/.{1,4}/gs))
    yield { tool_calls: [{ index: 0, function: { arguments: piece } }] };
}

function wholeCall({ tools = [] }: ChatRequest) {
  const names = tools.map(({ function: { name } }) => name);
  const name = names.includes(tool) ? tool : (names[0] ?? tool);
  const call = { id: `call_${requests}`, type: 'function', function: { name, arguments: toolArguments } };
  return { tool_calls: [call] as const };
}

function send(response: ServerResponse, body: object, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
