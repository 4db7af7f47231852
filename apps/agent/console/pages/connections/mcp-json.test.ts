import { expect, it } from 'vitest';
import { knownServers, parseServers, pasteOf } from './mcp-json.ts';

const read = (value: unknown) => parseServers(JSON.stringify(value));

it('reads the block of Claude Desktop and Cursor', () => {
  const mcpServers = {
    'my files': { command: 'npx', args: ['-y', 'some-server'], env: { KEY: `\${env:FILES_KEY}` } },
    old: { url: 'https://a.example/sse', type: 'sse', disabled: true },
  };
  expect(read({ mcpServers })).toEqual({
    servers: [
      { name: 'my-files', command: 'npx', args: ['-y', 'some-server'], env: { KEY: `\${FILES_KEY}` } },
      { name: 'old', enabled: false, transport: 'sse', url: 'https://a.example/sse', headers: {} },
    ],
  });
});

it('reads the block of VS Code, alone and within its settings', () => {
  const servers = { wiki: { type: 'http', url: 'https://w.example/mcp', headers: { 'X-Key': 'k' } } };
  const expected = {
    servers: [{ name: 'wiki', transport: 'http', url: 'https://w.example/mcp', headers: { 'X-Key': 'k' } }],
  };
  expect([read({ servers, inputs: [] }), read({ mcp: { servers } })]).toEqual([expected, expected]);
});

it.each([
  ['{ "mcpServers": ', 'This is not JSON. Paste the whole block, with its braces.'],
  ['{}', 'There is no server in it. It begins with "mcpServers".'],
  ['{ "command": "npx" }', 'There is no server in it. It begins with "mcpServers".'],
  ['{ "mcpServers": { "x": {} } }', 'x: it has neither a command nor a url.'],
  ['{ "mcpServers": { "x": { "url": "y", "type": "tcp" } } }', 'x: the transport tcp is not known.'],
  [
    // biome-ignore lint/suspicious/noTemplateCurlyInString: VS Code writes its placeholders so.
    '{ "servers": { "x": { "url": "y", "headers": { "k": "${input:key}" } } } }',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: as above.
    'x: put the value in place of ${input:key}.',
  ],
])('says what is wrong with %s', (text, problem) => {
  expect(parseServers(text)).toEqual({ problem });
});

it('reads what it offers of each known server', () => {
  for (const known of knownServers)
    expect(parseServers(pasteOf(known))).toMatchObject({ servers: [{ name: known.server.name }] });
});
