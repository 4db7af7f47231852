import { generateKeyPairSync } from 'node:crypto';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { type AgentCard, generateAgentCardSignature, verifyAgentCardSignature } from '@a2a-js/sdk';
import { type FakePeer, startFakePeer, temporaryDirectory } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createA2aClient } from '../client/client.ts';
import { agentsOfThisFile, echo } from '../fixtures/agents.ts';
import type { Json } from '../fixtures/calls.ts';
import type { TestAgent } from '../fixtures/start-agent.ts';

const startAgent = agentsOfThisFile();
const home = temporaryDirectory();
const peers: FakePeer[] = [];
let agent: TestAgent;
beforeAll(async () => {
  agent = await startAgent(echo, {
    signingHome: home.path,
    credentials: { bearer: 'sesame' },
    extendedCard: () => ({ description: 'for you' }),
  });
});
afterAll(async () => {
  for (const peer of peers) await peer.stop();
  home.remove();
});

async function read(path: string, headers: Record<string, string> = {}): Promise<Json> {
  const response = await fetch(agent.url + path, { headers });
  expect(response.status).toBe(200);
  return (await response.json()) as Json;
}

const cardPath = '/.well-known/agent-card.json';
const keysAt = async () => (await read('/.well-known/jwks.json')).keys as { kid: string }[];

describe('the signature of our card', () => {
  it('is one that the official SDK accepts, in every form that holds the card of 1.0', async () => {
    // The SDK prints each signature that does not fit.
    const printed = vi.spyOn(console, 'debug').mockImplementation(() => undefined);
    onTestFinished(() => printed.mockRestore());
    const keys = await keysAt();
    const check = verifyAgentCardSignature(async (kid, jku) => {
      expect(jku).toBe(`${agent.url}/.well-known/jwks.json`);
      return keys.find((key) => key.kid === kid) ?? Promise.reject(new Error('unknown key'));
    });
    const known = { authorization: 'Bearer sesame', 'a2a-version': '1.0' };
    for (const card of [
      await read(cardPath),
      await read(cardPath, { 'a2a-version': '1.0' }),
      await read('/extendedAgentCard', known),
    ]) {
      await check(card as unknown as AgentCard);
      await expect(check({ ...card, name: 'Mallory' } as unknown as AgentCard)).rejects.toThrow();
    }
    expect(await read(cardPath, { 'a2a-version': '0.3' })).not.toHaveProperty('signatures');
  });

  it('is made with a key that stays, in a file for its owner alone; the same card has the same tag', async () => {
    expect(statSync(join(home.path, 'a2a-card-key')).mode & 0o777).toBe(0o600);
    const again = await startAgent(echo, { signingHome: home.path });
    const keys = (await (await fetch(`${again.url}/.well-known/jwks.json`)).json()) as Json;
    expect(keys.keys).toEqual(await keysAt());
    const tag = async () => (await fetch(agent.url + cardPath)).headers.get('etag');
    expect(await tag()).toBe(await tag());
    expect(JSON.stringify(keys)).not.toContain('"d"');
  });
});

describe('the card of another agent', () => {
  const client = createA2aClient();
  const ask = (trust: object, url = agent.url) =>
    client.card({ name: 'Peer', url, trust, credentials: { bearer: 'sesame' } });

  it('is checked with pinned keys or those at an address', async () => {
    const jwks = `${agent.url}/.well-known/jwks.json`;
    expect(await ask({ jwks })).toMatchObject({ name: 'Test agent', signature: 'verified' });
    expect(await ask({ keys: await keysAt() })).toMatchObject({ signature: 'verified' });
    const unchecked = await client.card({ name: 'Peer', url: agent.url });
    expect(unchecked.signature).toBe('signed');
    const trust = { jwks: `${agent.url}/nowhere` };
    await expect(client.ask({ name: 'Peer', url: agent.url, trust }, { text: 'x' })).rejects.toThrow(
      'no keys',
    );
  });

  it('is refused in words without a signature that we trust, and nothing is sent', async () => {
    const other = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });
    await expect(ask({ keys: [{ ...other, kid: 'other' }] })).rejects.toThrow(
      'The agent Peer is not asked: its card is signed with a key that is not among those we trust. Check cardKeys or cardJwks of its entry.',
    );
    await expect(ask({ keys: [other] })).rejects.toThrow('its card was changed after it was signed');
    const unsigned = await startAgent(echo);
    await expect(ask({ keys: [other] }, unsigned.url)).rejects.toThrow('its card is not signed');
    await expect(ask({ jwks: `${unsigned.url}/nowhere` })).rejects.toThrow('there are no keys at');
    const trust = { keys: [other] };
    for (const protocol of ['discover', '0.3'] as const) {
      const peer = { name: 'Peer', url: unsigned.url, protocol, trust };
      await expect(client.ask(peer, { text: 'x' })).rejects.toMatchObject({ code: 'agent_unverified' });
    }
  });

  it('may be signed by the official SDK with ES256', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const header = { alg: 'ES256', kid: 'k1', typ: 'JOSE' };
    let card: object = {};
    const peer = await startFakePeer({ card: () => card as Json });
    peers.push(peer);
    const sign = async (...addresses: string[]) => {
      const plain = {
        ...(await read(cardPath, { 'a2a-version': '1.0' })),
        name: 'Signed elsewhere',
        supportedInterfaces: addresses.map((url) => ({
          url,
          protocolBinding: 'JSONRPC',
          protocolVersion: '1.0',
        })),
        signatures: [],
      };
      return await generateAgentCardSignature(privateKey, header)(plain as unknown as AgentCard);
    };
    const signed = await sign(peer.url);
    card = signed;
    const keys = [{ ...publicKey.export({ format: 'jwk' }), kid: 'k1' }];
    expect(await ask({ keys }, peer.url)).toMatchObject({ name: 'Signed elsewhere', signature: 'verified' });
    card = { ...signed, name: 'Mallory' };
    await expect(ask({ keys }, peer.url)).rejects.toThrow('its card was changed after it was signed');
    card = { ...signed, signatures: [{ protected: 'bm90IGpzb24', signature: 'x' }, 3] };
    await expect(ask({ keys }, peer.url)).rejects.toThrow('its card is signed with a key');
    // Fields of 0.3 are not covered by the signature, so they name no address either.
    for (const addresses of [[`${agent.url}/a2a`], ['http://0.0.0.0/a2a'], ['/a2a'], []]) {
      card = { ...(await sign(...addresses)), protocolVersion: '0.3.0', url: peer.url };
      await expect(ask({ keys }, peer.url)).rejects.toThrow(
        `its card is not for ${new URL(peer.url).origin}`,
      );
    }
    // A card at the root counts for an endpoint with a path of its own if it was signed for that.
    const endpoint = `${peer.origin}/agents/b/rpc`;
    card = await sign(`${peer.origin}/agents/a/rpc`, endpoint);
    const published = await startFakePeer({ card: () => ({ keys }) });
    peers.push(published);
    for (const trust of [{ keys }, { jwks: published.origin + cardPath }]) {
      expect(await ask(trust, endpoint)).toMatchObject({ signature: 'verified' });
      await expect(ask(trust, `${peer.origin}/agents/c/rpc`)).rejects.toThrow(
        `the card of its host does not name ${peer.origin}/agents/c/rpc. Check cardKeys`,
      );
    }
    card = { ...(await sign(`${peer.origin}/agents/a/rpc`)), protocolVersion: '0.3.0', url: endpoint };
    await expect(ask({ keys }, endpoint)).rejects.toThrow('does not name');
  });

  it('is checked against a bounded number of keys, of which some may be unfit', async () => {
    const unfit = generateKeyPairSync('x25519').publicKey.export({ format: 'jwk' });
    const [own] = await keysAt();
    expect(await ask({ keys: [unfit, { kty: 'OKP' }, own] })).toMatchObject({ signature: 'verified' });
    const many = Array.from({ length: 20 }, () => unfit);
    await expect(ask({ keys: [...many, own] })).rejects.toThrow('its card was changed');
  });
});
