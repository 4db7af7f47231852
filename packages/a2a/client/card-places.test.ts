import { AgentCard } from '@a2a-js/sdk';
import { expect, it } from 'vitest';
import { placeInterfaces } from './card-places.ts';
import type { RemoteAgent } from './remote-agent.ts';

const addresses: Record<string, string[]> = {
  'other.example': ['93.184.215.14', '2606:2800:21f:cb07:6820:80da:af6b:8b2c'],
  'inside.example': ['93.184.215.14', '10.0.0.7'],
};
const resolve = async (host: string) => {
  const found = addresses[host];
  if (found === undefined) throw new Error('ENOTFOUND');
  return found;
};
const signal = new AbortController().signal;

/** Where JSON-RPC is spoken with the agent at `own` whose card names `named`. */
async function place(own: string, named: string, more: Partial<RemoteAgent> = {}) {
  const supportedInterfaces = [{ url: named, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }];
  const card = AgentCard.fromJSON({ name: 'Foreign', supportedInterfaces });
  const agent = { name: 'Foreign', url: own, ...more };
  const placed = await placeInterfaces(card, agent, { isItsCard: true, signal, resolve });
  return placed.supportedInterfaces.map(({ url }) => url).join();
}

const secret = { credentials: { bearer: 'sesame' } };

it.each([
  // TLS says who wrote the card.
  ['https://a.example/', 'https://other.example/rpc', 'https://other.example/rpc'],
  ['https://inside.example/a2a', 'https://inside.example:8443/rpc', 'https://inside.example:8443/rpc'],
  // Never less protected than at the configured address.
  ['https://a.example/', 'http://other.example/rpc', 'https://a.example/rpc'],
  ['https://a.example/a2a', 'http://other.example/rpc', 'https://a.example/a2a'],
  // Never into our own networks.
  ['https://a.example/', 'https://inside.example/rpc', 'https://a.example/rpc'],
  ['https://a.example/', 'https://169.254.169.254/rpc', 'https://a.example/rpc'],
  ['https://a.example/', 'https://[fd00::1]/rpc', 'https://a.example/rpc'],
  ['https://a.example/', 'https://localhost:8443/rpc', 'https://a.example/rpc'],
  // Nobody knows the name.
  ['https://a.example/', 'https://container:9000/rpc', 'https://a.example/rpc'],
  ['http://a.example:9000/', 'http://container:9000/rpc', 'http://a.example:9000/rpc'],
  ['http://a.example/agents/b', 'http://container:9000/rpc', 'http://a.example/agents/b'],
  // Anybody on the way may have written it.
  ['http://a.example/', 'https://other.example/rpc', 'http://a.example/rpc'],
  ['http://a.example/a2a', 'https://other.example/rpc', 'http://a.example/a2a'],
])('a card of %s that names %s leads to %s, with credentials too', async (own, named, placed) => {
  expect(await place(own, named)).toBe(placed);
  expect(await place(own, named, secret)).toBe(placed);
});

it('follows a card to another port of its host, without TLS only where no credentials go with it', async () => {
  const [own, named] = ['http://inside.example:8000/', 'http://inside.example:9000/rpc'];
  expect(await place(own, named)).toBe(named);
  expect(await place(`${own}agents/card.json`, named)).toBe(named);
  expect(await place(own, named, secret)).toBe('http://inside.example:8000/rpc');
  expect(await place('https://inside.example/', named)).toBe('https://inside.example/rpc');
});

it('follows no card with the token between services, and any card to a host that the operator named', async () => {
  const peer = { peer: { token: 't', name: 'agent', to: 'research' } };
  const at = (more: Partial<RemoteAgent>) =>
    place('https://a.example/a2a', 'https://other.example/rpc', more);
  expect(await at(peer)).toBe('https://a.example/a2a');
  const ours = (named: string) => place('http://127.0.0.1:7870/a2a', named, peer);
  for (const host of [
    'http://container:9000',
    'https://other.example',
    'http://127.0.0.1:80',
    'http://0.0.0.0',
  ])
    expect(await ours(`${host}/agent/a2a`)).toBe('http://127.0.0.1:7870/a2a');
  const named = { ...secret, cardHosts: ['inside.example'] };
  expect(await place('https://a.example/', 'https://inside.example/rpc', named)).toBe(
    'https://inside.example/rpc',
  );
});

it('is not asked where its card is at an address of its own and names a host that is not believed', async () => {
  const own = 'http://a.example/agents/card.json';
  await expect(place(own, 'https://other.example/rpc')).rejects.toMatchObject({ code: 'agent_elsewhere' });
});
