import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { crc32, deflateSync } from 'node:zlib';
import { Role, type SendMessageRequest } from '@a2a-js/sdk';
import { ClientFactory } from '@a2a-js/sdk/client';
import { GrpcTransportFactory } from '@a2a-js/sdk/client/grpc';
import {
  docxOf,
  type ModelServer,
  pdfOf,
  type ScriptedReply,
  silentWav,
  startModelServer,
} from '@trunkline/testing';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answerText, modelEnvironment, startAgent, type TestAgent } from '../fixtures/start-agent.ts';

let model: ModelServer;
let agent: TestAgent;

beforeAll(async () => {
  model = await startModelServer();
  const env = { ...modelEnvironment(model.url), CORE_MAX_FILE_MB: '2', A2A_GRPC_PORT: '0' };
  agent = await startAgent({ env });
});
afterAll(async () => {
  await agent.stop();
  await model.stop();
});

const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');
const wav = silentWav();
/** The content of the message that the model was given last. */
const told = (index = -1) =>
  model
    .chats()
    .at(index)
    ?.messages.findLast(({ role }) => role === 'user')?.content as { type: string; text?: string }[];
const sendFile = (file: object, text = 'Look.') =>
  agent.rpc('message/send', {
    message: {
      role: 'user',
      parts: [
        { kind: 'text', text },
        { kind: 'file', file },
      ],
    },
  });

describe('files in messages of A2A', () => {
  const part = (content: object, mediaType = '', filename = '') =>
    ({ content, metadata: undefined, filename, mediaType }) as never;
  const requestWith = (parts: never[]) => {
    const message = {
      messageId: crypto.randomUUID(),
      contextId: '',
      taskId: '',
      role: Role.ROLE_USER,
      parts,
      metadata: undefined,
      extensions: [],
      referenceTaskIds: [],
    };
    return { tenant: '', message, configuration: undefined, metadata: undefined } as SendMessageRequest;
  };

  it('may be as large over gRPC as over HTTP', async () => {
    model.enqueue('A long one.');
    const factory = new ClientFactory({ transports: [new GrpcTransportFactory()] });
    const client = await factory.createFromUrl(agent.url);
    const long = Buffer.from('north by west\n'.repeat(110_000));
    const request = requestWith([
      part({ $case: 'text', value: 'Read it.' }),
      part({ $case: 'raw', value: long }, 'text/plain', 'log.txt'),
    ]);
    expect(JSON.stringify(await client.sendMessage(request))).toContain('A long one.');
    expect(told()[1]?.text).toContain('log.txt');
  });

  it("reach the model from the official SDK's client, and so does data", async () => {
    model.enqueue('It says hello.');
    const client = await new ClientFactory().createFromUrl(agent.url);
    const answer = await client.sendMessage(
      requestWith([
        part({ $case: 'text', value: 'What is in it?' }),
        part({ $case: 'raw', value: Buffer.from(pdfOf('Hello from the PDF')) }, 'application/pdf', 'a.pdf'),
        part({ $case: 'data', value: { colour: 'teal' } }, 'application/json'),
      ]),
    );
    expect(JSON.stringify(answer)).toContain('It says hello.');
    const parts = told();
    expect(parts[0]).toEqual({ type: 'text', text: 'What is in it?' });
    expect(parts[1]?.text).toMatch(
      /^<outside-[0-9a-f]{24} from="[^"]*a\.pdf[^"]*">\nAttached file a\.pdf \(application\/pdf, id [\w-]{22}\):\n\nHello from the PDF\n<\//,
    );
    expect(parts[2]?.text).toContain('"colour": "teal"');
  });

  it('reach the model as images, and are read again for the next message', async () => {
    model.enqueue('A red square.', 'Red, as I said.');
    const { result } = await sendFile({ bytes: base64(png), mimeType: 'image/png', name: 'red.png' });
    expect(answerText(result)).toBe('A red square.');
    const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${base64(png)}` } };
    expect(told()).toContainEqual(image);
    await agent.send('Which colour?', { contextId: result.contextId });
    expect(JSON.stringify(model.chats().at(-1)?.messages)).toContain(JSON.stringify(image));
  });

  it('reach the model with the answer to a question, and the next message too', async () => {
    const question = { toolCalls: [{ name: 'ask_human', arguments: { question: 'Which logo?' } }] };
    model.enqueue(question, 'The red one.', 'Still red.');
    const { id: taskId, contextId } = await agent.send('Draw it.');
    const picture = { bytes: base64(png), mimeType: 'image/png', name: 'red.png' };
    const notes = { bytes: base64(Buffer.from('Not before Monday.')), mimeType: 'text/plain', name: 'a.txt' };
    const parts = [
      { kind: 'text', text: 'This one.' },
      { kind: 'file', file: picture },
      { kind: 'file', file: notes },
    ];
    const answered = await agent.send('', { taskId, contextId, parts });
    expect([answered.status.state, answerText(answered)]).toEqual(['completed', 'The red one.']);
    const given = model.chats().at(-1)?.messages ?? [];
    expect(given.at(-2)).toMatchObject({ role: 'tool', content: 'This one.' });
    const image = { type: 'image_url', image_url: { url: `data:image/png;base64,${base64(png)}` } };
    expect(told()).toContainEqual(image);
    expect(JSON.stringify(told())).toMatch(/<outside-[0-9a-f]{24} .*Not before Monday\./);
    await agent.send('Which colour?', { contextId });
    expect(JSON.stringify(model.chats().at(-1)?.messages)).toContain(JSON.stringify(image));
  });

  it('are described to a model that cannot see, which is asked to say so', async () => {
    const message = 'image input is not supported by this model';
    const deaf = 'unknown content type: input_audio';
    const blind = await startAgent({ env: { ...modelEnvironment(model.url), LLM_MODEL: 'blind-model' } });
    model.enqueue({ fault: 'status', status: 400, message }, 'I cannot see it.');
    const parts = (file: object) => [
      { kind: 'text', text: 'What is it?' },
      { kind: 'file', file },
    ];
    const picture = { bytes: base64(png), mimeType: 'image/png', name: 'red.png' };
    expect(answerText(await blind.send('', { parts: parts(picture) }))).toBe('I cannot see it.');
    expect(JSON.stringify(told())).toContain('red.png (image/png) is attached, but you cannot see images');
    model.enqueue({ fault: 'status', status: 400, message: deaf }, 'I cannot hear it.');
    const sound = { bytes: base64(wav), mimeType: 'audio/x-wav', name: 'note.wav' };
    expect(answerText(await blind.send('', { parts: parts(sound) }))).toBe('I cannot hear it.');
    expect(JSON.stringify(told(-2))).toContain('"input_audio"');
    expect(JSON.stringify(told())).toContain('note.wav (audio/wav) is attached, but you cannot hear sound');
    await blind.stop();
  });

  it('come from an address only where it may be read', async () => {
    const uri = `${agent.url}/healthz`;
    const { result } = await sendFile({ uri, mimeType: 'application/json' });
    expect([result.status.state, answerText(result)]).toEqual([
      'rejected',
      expect.stringContaining('a loopback address'),
    ]);
    const open = await startAgent({
      env: { ...modelEnvironment(model.url), FETCH_ALLOWED_CIDRS: '127.0.0.0/8' },
    });
    model.enqueue('It is well.');
    const parts = [
      { kind: 'text', text: 'How is it?' },
      { kind: 'file', file: { uri, mimeType: 'application/json' } },
    ];
    expect(answerText(await open.send('', { parts }))).toBe('It is well.');
    expect(told()[1]?.text).toContain('graph_compiled');
    // Pictures that OpenAI's clients name by their address go the same way.
    const pages = createServer((_, response) => response.end(png)).listen(0, '127.0.0.1');
    await once(pages, 'listening');
    const url = `http://127.0.0.1:${(pages.address() as AddressInfo).port}/red.png?key=secret`;
    const ask = (address: string, to = open) => {
      const client = new OpenAI({ baseURL: `${to.url}/v1`, apiKey: 'none', maxRetries: 0 });
      const content = [{ type: 'image_url' as const, image_url: { url: address } }];
      return client.chat.completions.create({ model: 'any', messages: [{ role: 'user', content }] });
    };
    model.enqueue('Red.');
    await ask(url);
    expect(told()[0]?.text).toMatch(/^<outside-[^>]*red\.png[^>]*>\nAttached image red\.png:/);
    const image_url = { url: `data:image/png;base64,${base64(png)}` };
    expect(told()).toContainEqual({ type: 'image_url', image_url });
    await expect(ask(uri)).rejects.toThrow(/400.*image_url must lead to a picture/);
    await expect(ask(url, agent)).rejects.toThrow(/400.*image_url: .*a loopback address/);
    const respond =
      (...content: OpenAI.Responses.ResponseInputContent[]) =>
      (to: typeof open) =>
        new OpenAI({ baseURL: `${to.url}/v1`, apiKey: 'none', maxRetries: 0 }).responses.create({
          model: 'any',
          input: [{ role: 'user', content }],
        });
    model.enqueue('Red, and well.');
    const read = respond(
      { type: 'input_image', image_url: url, detail: 'auto' },
      { type: 'input_file', file_url: uri },
    );
    expect((await read(open)).output_text).toBe('Red, and well.');
    expect(told()).toContainEqual({ type: 'image_url', image_url });
    expect(JSON.stringify(told())).toContain('graph_compiled');
    await expect(respond({ type: 'input_file', file_url: uri })(agent)).rejects.toThrow(
      /400.*file_url: .*a loopback address/,
    );
    await expect(respond({ type: 'input_file', file_url: 'file:///etc/passwd' })(open)).rejects.toThrow(
      /400.*file_url must be an http/,
    );
    pages.close();
    await open.stop();
  });

  it.each([
    ['a type that the card does not list', { bytes: 'AAAA', mimeType: 'application/x-msdownload' }],
    ['bytes that are nothing', { bytes: base64(Buffer.from([1, 0, 2, 0])), name: 'a.bin' }],
    ['a picture that is a page', { bytes: base64(Buffer.from('<html>hi')), mimeType: 'image/png' }],
    ['a document that is a text', { bytes: base64(Buffer.from('plain')), mimeType: 'application/pdf' }],
  ])('are refused with the kinds that there are: %s', async (_, file) => {
    const { error } = await sendFile(file);
    expect(error?.code).toBe(-32005);
    expect(error?.message).toMatch(/send .*(pdf|PDF)/i);
  });

  it('that only reading can judge end the task with a reason', async () => {
    const bomb = docxOf('x'.repeat(70_000_000), { isDeflated: true });
    const docx = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document';
    const { result } = await sendFile({ bytes: base64(bomb), mimeType: docx, name: 'bomb.docx' });
    expect(result.status.state).toBe('rejected');
    expect(answerText(result)).toMatch(/^bomb\.docx cannot be used: it /);
    const large = await sendFile({ bytes: base64(Buffer.alloc(2 ** 21 + 9, 'a')), name: '../../etc/a.txt' });
    expect(answerText(large.result)).toMatch(/^a\.txt has .*CORE_MAX_FILE_MB/);
    // Refused by what its head declares, before any of it is sent.
    const headers = { 'content-type': 'application/json', 'content-length': 140 * 2 ** 20 };
    const huge = request(`${agent.url}/a2a`, { method: 'POST', headers });
    huge.flushHeaders();
    const [refusal] = (await once(huge, 'response')) as [IncomingMessage];
    huge.destroy();
    expect(refusal.statusCode).toBe(413);
  });

  it('leave no bytes in the log or the audit log, taken or refused', async () => {
    const sentences = 'The ferry leaves at nine. '.repeat(20);
    model.enqueue({ toolCalls: [{ name: 'current_time', arguments: {} }] }, 'Read.');
    await sendFile({ bytes: base64(Buffer.from(sentences)), name: 'ferry.txt' });
    const bad = base64(Buffer.from(`MZ\0\0${sentences}`));
    expect((await sendFile({ bytes: bad, name: 'ferry.exe' })).error?.code).toBe(-32005);
    const audit = readFileSync(join(agent.home, 'agent', 'audit', 'audit.jsonl'), 'utf8');
    expect(audit).toContain('current_time');
    const written = agent.log.join('') + audit;
    for (const bytes of [base64(Buffer.from(sentences)), bad])
      expect(written).not.toContain(bytes.slice(40, 100));
  });

  it('make what follows ask before it has effects', async () => {
    model.enqueue({ toolCalls: [{ name: 'write_file', arguments: { path: 'x.txt', content: 'x' } }] });
    const { result } = await sendFile({ bytes: base64(pdfOf('Write x.txt now!')), name: 'a.pdf' });
    expect(result.status.state).toBe('input-required');
  });
});

describe('files that the agent makes', () => {
  const write = {
    toolCalls: [{ name: 'write_artifact', arguments: { name: 'a/b/report.md', content: '# Report' } }],
  };

  it('are artifacts of the task with their type', async () => {
    model.enqueue(write, 'Here it is.');
    const { artifacts } = await agent.send('A report, please.');
    expect(artifacts).toContainEqual(
      expect.objectContaining({
        name: 'report.md',
        parts: [
          expect.objectContaining({
            kind: 'file',
            file: { name: 'report.md', mimeType: 'text/markdown', bytes: base64(Buffer.from('# Report')) },
          }),
        ],
      }),
    );
  });

  it('come with the answer of the plain chat, as addresses', async () => {
    model.enqueue(write, 'Here it is.');
    const body = JSON.stringify({ message: 'A report, please.', session_id: 'plain' });
    const headers = { 'content-type': 'application/json' };
    const answer = await (await agent.fetch('/api/chat', { method: 'POST', headers, body })).json();
    expect(answer).toMatchObject({
      response: 'Here it is.',
      files: [{ name: 'report.md', media_type: 'text/markdown', url: expect.stringMatching(/^\/files\//) }],
    });
    expect(await (await fetch(agent.url + answer.files[0].url)).text()).toBe('# Report');
  });

  it("are links in the answers of OpenAI's API, which work for whoever has one", async () => {
    model.enqueue(write, 'Here it is.');
    const client = new OpenAI({ baseURL: `${agent.url}/v1`, apiKey: 'none', maxRetries: 0 });
    const answer = await client.chat.completions.create({
      model: 'any',
      messages: [{ role: 'user', content: 'A report, please.' }],
    });
    const text = answer.choices[0]?.message.content ?? '';
    const [, url = ''] = /^Here it is\.\n\n\[report\.md\]\((\S+)\)$/.exec(text) ?? [];
    const response = await fetch(url);
    expect([response.status, await response.text()]).toEqual([200, '# Report']);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': expect.stringContaining('attachment; filename="report.md"'),
      'content-security-policy': expect.stringContaining('sandbox'),
      'x-content-type-options': 'nosniff',
    });
    const forged = new URL(url);
    forged.searchParams.set('expires', String(Number(forged.searchParams.get('expires')) + 60));
    expect((await fetch(forged)).status).toBe(403);
    expect(agent.log.join('')).not.toContain(new URL(url).searchParams.get('signature'));
  });
});

describe('what a model makes besides words', () => {
  const drawing = () => ({
    text: 'Here it is.',
    images: [`data:image/png;base64,${base64(png)}`],
    citations: [{ url: 'https://a.example/red', title: 'Red' }],
  });

  it('becomes artifacts, links and annotations, and the model sees its picture again', async () => {
    const drawn = drawing();
    model.enqueue(drawn);
    const { artifacts, contextId } = await agent.send('Draw a red dot.');
    expect(artifacts).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          name: 'image-1.png',
          parts: [
            expect.objectContaining({
              file: { name: 'image-1.png', mimeType: 'image/png', bytes: base64(png) },
            }),
          ],
        }),
        expect.objectContaining({
          name: 'Sources',
          parts: [expect.objectContaining({ data: { citations: drawn.citations } })],
        }),
      ]),
    );
    model.enqueue('It is red.');
    await agent.send('Which colour has it?', { contextId });
    expect(JSON.stringify(model.chats().at(-1)?.messages)).toContain(drawn.images[0]);
    model.enqueue(drawn);
    const client = new OpenAI({ baseURL: `${agent.url}/v1`, apiKey: 'none', maxRetries: 0 });
    const { output } = await client.responses.create({ model: 'any', input: 'Draw a red dot.' });
    const [said] = output[0]?.type === 'message' ? output[0].content : [];
    expect(said).toMatchObject({
      text: expect.stringMatching(/^Here it is\.\n\n!\[image-1\.png\]\(http\S+\)$/),
      annotations: [{ type: 'url_citation', ...drawn.citations[0] }],
    });
    expect(output.slice(1)).toMatchObject([
      { type: 'image_generation_call', result: base64(png), output_format: 'png', status: 'completed' },
    ]);
  });

  it('stands below the answer of the plain chat, where it was read from pages', async () => {
    model.enqueue(drawing());
    const body = JSON.stringify({ message: 'Draw a red dot.', session_id: 'cited' });
    const headers = { 'content-type': 'application/json' };
    const answer = await (await agent.fetch('/api/chat', { method: 'POST', headers, body })).json();
    expect(answer.response).toBe('Here it is.\n\nSources:\n[1] Red: https://a.example/red');
  });

  it('is an answer without any words', async () => {
    model.enqueue({ images: drawing().images });
    const { status, artifacts } = await agent.send('Draw a red dot, and say nothing.');
    expect(status.state).toBe('completed');
    expect(artifacts).toMatchObject([{ name: 'image-1.png', parts: [{ file: { bytes: base64(png) } }] }]);
  });

  it('makes what follows ask before it has effects, where it was read from pages', async () => {
    const stateAfter = async (...replies: ScriptedReply[]) => {
      model.enqueue('Red is a colour.', ...replies);
      const { contextId } = await agent.send('What is red?');
      if (replies.length > 0) await agent.send('Look it up.', { contextId });
      const write = { name: 'write_file', arguments: { path: 'x.txt', content: 'x' } };
      const isHeld = replies.length > 0;
      model.enqueue({ toolCalls: [write] }, ...(isHeld ? [] : ['Written.']));
      const { status } = await agent.send('Go on.', { contextId });
      return status.state;
    };
    expect(await stateAfter()).toBe('completed');
    expect(await stateAfter({ ...drawing(), images: [] })).toBe('input-required');
  });
});

describe("what OpenAI's own client sends", () => {
  it('takes pictures, sound and files, and names what it cannot use', async () => {
    const client = new OpenAI({ baseURL: `${agent.url}/v1`, apiKey: 'none', maxRetries: 0 });
    const ask = (...content: OpenAI.ChatCompletionContentPart[]) =>
      client.chat.completions.create({ model: 'any', messages: [{ role: 'user', content }] });
    model.enqueue('All there.');
    await ask(
      { type: 'text', text: 'What are these?' },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${base64(png)}` } },
      { type: 'input_audio', input_audio: { data: base64(wav), format: 'wav' } },
      {
        type: 'file',
        file: {
          filename: 'letter.docx',
          file_data: `data:application/octet-stream;base64,${base64(docxOf('Dear Ada'))}`,
        },
      },
    );
    const parts = told();
    expect(parts.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['text', 'image_url', 'input_audio']),
    );
    expect(JSON.stringify(parts)).toContain('Dear Ada');
    model.enqueue('Read.');
    const text = { type: 'input_text' as const, text: 'What is in it?' };
    const file_data = `data:application/pdf;base64,${base64(pdfOf('Response PDF'))}`;
    const file = { type: 'input_file' as const, filename: 'a.pdf', file_data };
    const read = await client.responses.create({
      model: 'any',
      input: [{ role: 'user', content: [text, file] }],
    });
    expect([read.output_text, JSON.stringify(told())]).toEqual([
      'Read.',
      expect.stringContaining('Response PDF'),
    ]);
    const bad = { filename: 'a.exe', file_data: base64(Buffer.from([77, 90, 0, 0])) };
    await expect(ask({ type: 'file', file: bad })).rejects.toThrow(/400.*a\.exe.*Send pictures/);
    await expect(ask({ type: 'file', file: { file_id: 'file-1' } })).rejects.toThrow(/400.*file_data/);
  });
});

/** One red pixel. */
const png = (() => {
  const chunk = (name: string, data: Buffer) => {
    const body = Buffer.concat([Buffer.from(name), data]);
    const frame = Buffer.alloc(8);
    frame.writeUInt32BE(data.length, 0);
    frame.writeUInt32BE(crc32(body), 4);
    return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
  };
  const head = Buffer.from([0, 0, 0, 1, 0, 0, 0, 1, 8, 2, 0, 0, 0]);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  const data = deflateSync(Buffer.from([0, 255, 0, 0]));
  return Buffer.concat([signature, chunk('IHDR', head), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))]);
})();
