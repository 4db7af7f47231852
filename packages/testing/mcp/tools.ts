import { appendFileSync, existsSync } from 'node:fs';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import {
  CallToolRequestSchema,
  CreateMessageResultSchema,
  ElicitResultSchema,
  ListToolsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { pdfOf } from '../documents.ts';

const text = (words: string) => ({ content: [{ type: 'text' as const, text: words }] });

export interface McpTestServerOptions {
  /** What the server says about further tools `described_0`, `described_1` and so on. */
  descriptions?: readonly string[];
  onCall?: (words: string) => void;
  /** With it the server has a resource `note://tides`, a prompt `tides`, and tools that ask a person (`survey`) and the client's model (`sample`). */
  say?: () => string;
  /** How a program reads its environment. */
  variable?: (name: string) => string | undefined;
}

/** A server with the tools that are named; `note=FILE` is a tool that appends to the file, `put=FILE` and `post=FILE` are cut off once. */
export function createMcpTestServer(
  tools: readonly string[],
  { onCall, say, descriptions = [], variable = () => undefined }: McpTestServerOptions = {},
): McpServer {
  const server = new McpServer({ name: 'test', version: '1.0.0' });
  const numbers = { a: z.number(), b: z.number().describe('second') };
  const words = { words: z.string() };
  const register: Record<string, () => unknown> = {
    add: () =>
      server.registerTool('add', { description: 'Adds.', inputSchema: numbers }, ({ a, b }) =>
        text(String(a + b)),
      ),
    echo: () =>
      server.registerTool(
        'echo',
        { description: 'Says it again.', inputSchema: words, annotations: { readOnlyHint: true } },
        (input) => {
          onCall?.(input.words);
          return text(input.words);
        },
      ),
    fail: () =>
      server.registerTool('fail', { inputSchema: {} }, () => ({ ...text('it broke'), isError: true })),
    get: () =>
      server.registerTool('get', { inputSchema: { url: z.string() } }, async ({ url }) => {
        const answer = fetch(url).then((response) => response.text());
        return text(await answer.catch((error: Error) => `${error.message}: ${error.cause}`));
      }),
    hang: () => server.registerTool('hang', { inputSchema: {} }, () => new Promise<never>(() => undefined)),
    die: () =>
      server.registerTool('die', { inputSchema: {} }, () => {
        process.stderr.write('fatal: out of cheese\n');
        process.exit(1);
      }),
    variable: () =>
      server.registerTool('variable', { inputSchema: { name: z.string() } }, ({ name }) =>
        text(variable(name) ?? 'unset'),
      ),
    grow: () =>
      server.registerTool('grow', { inputSchema: {} }, () => {
        register.echo?.();
        return text('grown');
      }),
    restless: () => {
      let listed = 0;
      return server.registerTool('restless', { inputSchema: {} }, () => {
        server.server.setRequestHandler(ListToolsRequestSchema, () => {
          listed += 1;
          setImmediate(() => void server.server.sendToolListChanged());
          const inputSchema = { type: 'object' as const };
          return { tools: [{ name: 'restless', description: `as of ${listed}`, inputSchema }] };
        });
        if (listed === 0) void server.server.sendToolListChanged();
        return text(String(listed));
      });
    },
    media: () =>
      server.registerTool('media', { inputSchema: {} }, () => ({
        content: [
          { type: 'image' as const, data: 'AA==', mimeType: 'image/png' },
          { type: 'resource' as const, resource: { uri: 'file:///note', text: 'a note' } },
        ],
      })),
    seen: () =>
      server.registerTool('seen', { inputSchema: {} }, () => ({
        structuredContent: { ships: 3 },
        content: [
          { type: 'image' as const, data: 'AA==', mimeType: 'image/png' },
          {
            type: 'resource_link' as const,
            uri: 'file:///log',
            name: 'log',
            mimeType: 'text/plain',
            description: 'What was seen',
          },
        ],
      })),
    crash: () =>
      server.registerTool('crash', { inputSchema: {} }, () => ({
        isError: true,
        content: [
          { type: 'text' as const, text: 'the page did not load' },
          { type: 'image' as const, data: 'AA==', mimeType: 'image/png' },
        ],
      })),
    steps: () =>
      server.registerTool('steps', { inputSchema: {} }, async (_input, { _meta, sendNotification }) => {
        const progressToken = _meta?.progressToken ?? '';
        const params = { progressToken, progress: 1, total: 4, message: 'Copying\nfiles' };
        await sendNotification({ method: 'notifications/progress', params });
        return text('copied');
      }),
    album: () =>
      server.registerTool('album', { inputSchema: {} }, () => ({
        content: Array.from({ length: 12 }, () => ({
          type: 'image' as const,
          data: 'AA==',
          mimeType: 'image/png;filename=x.exe',
        })),
      })),
    files: () => addFiles(server),
    odd: () =>
      server.registerTool('odd', { inputSchema: { 'first hand over all': z.string() } }, () => text('no')),
    hidden: () => server.registerTool('hidden', { inputSchema: {} }, () => text('no')),
  };
  if (say !== undefined) addTides(server, say);
  for (const [index, description] of descriptions.entries())
    server.registerTool(`described_${index}`, { description, inputSchema: words }, (input) => {
      onCall?.(input.words);
      return text(input.words);
    });
  for (const tool of tools) {
    const [name = '', file = ''] = tool.split('=');
    if (name === 'put' || name === 'post') registerCut(server, name, file);
    else if (name === 'note')
      server.registerTool('note', { inputSchema: words }, (input) => {
        appendFileSync(file, `${input.words}\n`);
        return text('noted');
      });
    else register[name]?.();
  }
  return server;
}

/** `put` says that it may be repeated, `post` does not. Each notes the words; the server dies before its first answer. */
function registerCut(server: McpServer, name: string, file: string): void {
  const annotations = name === 'put' ? { idempotentHint: true } : {};
  server.registerTool(name, { inputSchema: { words: z.string() }, annotations }, (input) => {
    const isFirst = !existsSync(file);
    appendFileSync(file, `${input.words}\n`);
    if (isFirst) process.exit(1);
    return text('stored');
  });
}

function addTides(server: McpServer, say: () => string): void {
  server.registerResource('tides', 'note://tides', {}, ({ href: uri }) => ({
    contents: [{ uri, text: say() }],
  }));
  server.registerPrompt('tides', {}, () => ({
    messages: [{ role: 'user' as const, content: { type: 'text' as const, text: say() } }],
  }));
  server.registerTool('survey', { inputSchema: {} }, async (_input, { sendRequest }) => {
    const requestedSchema = {
      type: 'object' as const,
      properties: { name: { type: 'string' as const } },
      required: ['name'],
    };
    const params = { message: say(), requestedSchema };
    const { content } = await sendRequest({ method: 'elicitation/create', params }, ElicitResultSchema);
    return text([say(), content?.name].filter(Boolean).join(' '));
  });
  server.registerTool('sample', { inputSchema: {} }, async (_input, { sendRequest }) => {
    const content = { type: 'text' as const, text: say() };
    const params = { messages: [{ role: 'user' as const, content }], systemPrompt: say(), maxTokens: 100 };
    const sampled = await sendRequest(
      { method: 'sampling/createMessage', params },
      CreateMessageResultSchema,
    );
    return text(JSON.stringify(sampled.content));
  });
}

/** A document, a sound and a picture through each way that a server has: `papers` and `ask` are tools, `look` is a prompt. */
function addFiles(server: McpServer): void {
  const picture = { type: 'image' as const, data: 'AA==', mimeType: 'image/png' };
  const pdf = {
    mimeType: 'application/pdf',
    blob: Buffer.from(pdfOf('High water at nine')).toString('base64'),
  };
  server.registerTool('papers', { inputSchema: {} }, () => ({
    content: [
      { type: 'resource' as const, resource: { uri: 'file:///tides.pdf', ...pdf } },
      { type: 'audio' as const, data: 'AAAA', mimeType: 'audio/wav' },
    ],
  }));
  server.registerResource('dot', 'note://sea/dot.png', {}, ({ href: uri }) => ({
    contents: [{ uri, mimeType: 'image/png', blob: 'AA==' }],
  }));
  server.registerPrompt('look', {}, () => ({
    messages: [
      { role: 'user' as const, content: { type: 'text' as const, text: 'Describe it.' } },
      { role: 'user' as const, content: picture },
      {
        role: 'user' as const,
        content: { type: 'resource' as const, resource: { uri: 'x:/a.pdf', ...pdf } },
      },
    ],
  }));
  server.registerTool('ask', { inputSchema: {} }, async (_input, { sendRequest }) => {
    const content = { ...picture, data: Buffer.from('\x89PNG\r\n\x1a\n', 'latin1').toString('base64') };
    const params = { messages: [{ role: 'user' as const, content }], maxTokens: 100 };
    const sampled = await sendRequest(
      { method: 'sampling/createMessage', params },
      CreateMessageResultSchema,
    );
    return text(JSON.stringify(sampled.content));
  });
}

/** A server whose list of tools comes in pages; each tool answers with its own name. */
export function createPagedMcpServer(count: number, pageSize: number): Server {
  const server = new Server({ name: 'paged', version: '1.0.0' }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
    const from = Number(params?.cursor ?? 0);
    const size = Math.min(pageSize, count - from);
    const tools = Array.from({ length: size }, (_, index) => ({
      name: `tool-${from + index}`,
      inputSchema: { type: 'object' as const },
    }));
    return { tools, ...(from + size < count && { nextCursor: String(from + size) }) };
  });
  server.setRequestHandler(CallToolRequestSchema, ({ params }) => text(params.name));
  return server;
}
