import { expect, it } from 'vitest';
import { startAnswering } from './answering-server.suite.ts';
import { callTool } from './call-tool.suite.ts';
import { createPeerConsult, createPeerList, readPeers } from './delegation-tools.ts';

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
  const artifacts = [{ parts: [{ kind: 'text', text: 'hello back' }] }];
  const result = { kind: 'task', id: 't', contextId: 'c', status: { state: 'completed' }, artifacts };
  const { url, asked, stop } = await startAnswering(() => ({ body: { jsonrpc: '2.0', id: 1, result } }));
  const peers = readPeers({ PEER_SCOUT_URL: url, PEER_SCOUT_TOKEN: 'tok' });
  expect(await callTool(createPeerList(peers))).toBe(`scout (${url})`);
  const consult = createPeerConsult(peers);
  expect(await callTool(consult, { name: 'Scout', message: 'hello', skill: 'greet' })).toBe(
    '[scout] hello back',
  );
  expect(asked[0]).toMatchObject({ path: '/a2a', headers: { authorization: 'Bearer tok' } });
  expect(JSON.parse(asked[0]!.body)).toMatchObject({
    method: 'message/send',
    params: { message: { metadata: { skill: 'greet' } } },
  });
  expect(await callTool(consult, { name: 'nobody', message: 'x' })).toBe(
    "Error: there is no peer 'nobody'. There are: scout.",
  );
  const keys = {
    PEER_SCOUT_CARD_KEYS: '[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]',
  };
  const sealed = createPeerConsult(readPeers({ PEER_SCOUT_URL: url, ...keys }));
  expect(await callTool(sealed, { name: 'scout', message: 'x' })).toMatch(
    /is not asked: its card is not signed/,
  );
  expect(() => readPeers({ PEER_SCOUT_URL: url, PEER_SCOUT_CARD_KEYS: '{' })).toThrow(
    /PEER_SCOUT_CARD_KEYS is not a list of public keys/,
  );
  stop();
  expect(await callTool(consult, { name: 'scout', message: 'x' })).toBe(
    'Error: The agent scout could not be reached.',
  );
});
