import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { callTool } from '../call-tool.suite.ts';
import { createPeerConsult } from './peer-consult.ts';
import { createPeerList } from './peer-list.ts';
import { readPeers } from './peers.ts';

it('finds peers by their variables [A068] [A069]', () => {
  const env = {
    PEER_SCOUT_URL: 'http://scout:1',
    PEER_SCOUT_TOKEN: 't',
    PEER_OLD_FRIEND_URL: 'http://friend:2',
    PEER_X_TOKEN: 'y',
  };
  expect(readPeers(env)).toEqual([
    { name: 'old_friend', url: 'http://friend:2', token: undefined },
    { name: 'scout', url: 'http://scout:1', token: 't' },
  ]);
  expect(readPeers({})).toEqual([]);
});

it('lists and consults peers [A092]', async () => {
  const seen: { path: string | undefined; key: string | undefined; body: { params: unknown } }[] = [];
  const server = createServer(async (request, response) => {
    seen.push({
      path: request.url,
      key: request.headers.authorization,
      body: JSON.parse(await text(request)),
    });
    const result = {
      kind: 'task',
      id: 't',
      contextId: 'c',
      status: { state: 'completed' },
      artifacts: [{ parts: [{ kind: 'text', text: 'hello back' }] }],
    };
    response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const peers = readPeers({ PEER_SCOUT_URL: url, PEER_SCOUT_TOKEN: 'tok' });
  expect(await callTool(createPeerList(peers))).toBe(`scout (${url})`);
  const consult = createPeerConsult(peers);
  expect(await callTool(consult, { name: 'Scout', message: 'hello', skill: 'greet' })).toBe(
    '[scout] hello back',
  );
  expect(seen[0]).toMatchObject({
    path: '/a2a',
    key: 'Bearer tok',
    body: { method: 'message/send', params: { metadata: { skill: 'greet' } } },
  });
  expect(await callTool(consult, { name: 'nobody', message: 'x' })).toBe(
    "Error: there is no peer 'nobody'. There are: scout.",
  );
  server.close();
  server.closeAllConnections();
  expect(await callTool(consult, { name: 'scout', message: 'x' })).toBe(
    'Error: scout cannot be reached right now.',
  );
});
