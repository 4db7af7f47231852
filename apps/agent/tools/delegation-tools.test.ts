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
  const file = { name: 'a.png', mimeType: 'image/png', bytes: 'cGl4ZWxz' };
  const artifacts = [{ parts: [{ kind: 'text', text: 'hello back' }] }, { parts: [{ kind: 'file', file }] }];
  const result = { kind: 'task', id: 't', contextId: 'c', status: { state: 'completed' }, artifacts };
  const { url, asked, stop } = await startAnswering(() => ({ body: { jsonrpc: '2.0', id: 1, result } }));
  const peers = readPeers({ PEER_SCOUT_URL: url, PEER_SCOUT_TOKEN: 'tok' });
  expect(await callTool(createPeerList(peers))).toBe(`scout (${url})`);
  const consult = createPeerConsult(peers);
  expect(await callTool(consult, { name: 'Scout', message: 'hello', skill: 'greet' })).toBe(
    '[scout] hello back\n(a.png, image/png, was left out: files cannot be handed on here. Say so.)',
  );
  const given: string[] = [];
  const attach = async ({ name }: { name: string }) => void given.push(name);
  const input = consult.input.parse({ name: 'scout', message: 'hello' });
  const context = { signal: new AbortController().signal, sessionId: 's', toolCallId: 'c', attach };
  expect(await consult.execute?.(input, context)).toBe('[scout] hello back\n(The person was given a.png.)');
  expect(given).toEqual(['a.png']);
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
