// A provider that answers as one, and whose ID tokens are wrong in one thing each.
import { createHmac, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { type JsonReply, JsonServer } from '@trunkline/testing';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { OidcProvider } from './provider.ts';

const keys = generateKeyPairSync('rsa', { modulusLength: 2048 });
const others = generateKeyPairSync('rsa', { modulusLength: 2048 });
const back = 'http://127.0.0.1:1/operator/oidc/callback';
const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
const now = () => Math.floor(Date.now() / 1000);

interface Token {
  header?: object;
  claims?: Record<string, unknown>;
  key?: KeyObject;
  /** Replaces the signature. */
  signature?: (signed: string) => string;
}

interface Provider {
  issuer?: string;
  userinfo?: object;
  /** Comes with the keys. */
  rest?: string;
  /** In place of the tokens. */
  reply?: JsonReply;
}

const servers: JsonServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop();
});

/** Signs somebody in at a provider that gives out this token. */
async function signIn(token: Token, { issuer, userinfo, rest, reply }: Provider = {}) {
  const server = new JsonServer();
  servers.push(server);
  let nonce = '';
  server.on('GET /.well-known/openid-configuration', () => ({
    body: {
      issuer: issuer ?? server.url,
      authorization_endpoint: `${server.url}/auth`,
      token_endpoint: `${server.url}/token`,
      userinfo_endpoint: `${server.url}/userinfo`,
      jwks_uri: `${server.url}/jwks`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256', 'HS256', 'none'],
    },
  }));
  server.on('GET /jwks', () => ({
    body: {
      rest,
      keys: [{ ...keys.publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'RS256', use: 'sig' }],
    },
  }));
  server.on('GET /userinfo', () => ({ body: userinfo ?? { sub: 'ava' } }));
  server.on('POST /token', () => {
    const claims = {
      iss: server.url,
      aud: 'trunkline',
      sub: 'ava',
      nonce,
      iat: now(),
      exp: now() + 300,
      ...token.claims,
    };
    const signed = `${encoded({ alg: 'RS256', kid: 'k', ...token.header })}.${encoded(claims)}`;
    if (reply !== undefined) return reply;
    const signature =
      token.signature?.(signed) ??
      sign('sha256', Buffer.from(signed), token.key ?? keys.privateKey).toString('base64url');
    return {
      body: { access_token: 'a', token_type: 'bearer', id_token: `${signed}.${signature}` },
    };
  });
  await server.listen();
  const provider = new OidcProvider({ issuer: server.url, clientId: 'trunkline', name: 'Example ID' });
  const { url, transaction } = await provider.begin(back);
  nonce = new URL(url).searchParams.get('nonce') ?? '';
  return await provider.finish(`?code=c&state=${transaction.state}`, transaction);
}

it('signs in with a token that is right', async () => {
  expect(await signIn({})).toMatchObject({ identity: expect.stringMatching(/^oidc:http.*#ava$/) });
});

const hmacOfPublicKey = (signed: string) =>
  createHmac('sha256', keys.publicKey.export({ format: 'pem', type: 'spki' }))
    .update(signed)
    .digest('base64url');

it.each<[string, Token]>([
  ['signed by another key', { key: others.privateKey }],
  ['without a signature', { header: { alg: 'none' }, signature: () => '' }],
  ['signed with the public key as a secret', { header: { alg: 'HS256' }, signature: hmacOfPublicKey }],
  ['of an unknown key', { header: { kid: 'unknown' }, key: others.privateKey }],
  [
    'with a signature of another text',
    { signature: () => sign('sha256', Buffer.from('x'), keys.privateKey).toString('base64url') },
  ],
  ['for another client', { claims: { aud: 'somebody-else' } }],
  ['for several clients, by another of them', { claims: { aud: ['trunkline', 'evil'], azp: 'evil' } }],
  ['of another issuer', { claims: { iss: 'https://evil.example' } }],
  ['that is over', { claims: { iat: now() - 7200, exp: now() - 3600 } }],
  ['without an end', { claims: { exp: undefined } }],
  ['for another sign-in', { claims: { nonce: 'another' } }],
  ['for no sign-in', { claims: { nonce: undefined } }],
  ['about nobody', { claims: { sub: undefined } }],
  ['about an empty subject', { claims: { sub: '' } }],
  ['from the future', { claims: { nbf: now() + 3600 } }],
])('refuses a token %s', async (_, token) => {
  await expect(signIn(token)).rejects.toThrow(/Example ID/);
});

it('refuses a provider that calls itself another', async () => {
  await expect(signIn({}, { issuer: 'https://evil.example' })).rejects.toThrow(/Example ID/);
});

it('reads no answer without an end', async () => {
  await expect(signIn({}, { rest: 'x'.repeat(2 ** 20) })).resolves.toBeDefined();
  await expect(signIn({}, { rest: 'x'.repeat(8 * 2 ** 20) })).rejects.toThrow(/Example ID .*is larger than/);
});

it('says that a provider cannot be reached that never ends its answer', async () => {
  const real = AbortSignal.timeout.bind(AbortSignal);
  const timeouts = vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => real(Math.min(ms, 200)));
  onTestFinished(() => timeouts.mockRestore());
  const reply = { headers: { 'content-length': '1000' }, body: '{"access_token":' };
  await expect(signIn({}, { reply })).rejects.toThrow(/Example ID cannot be reached .*timeout/);
});

it('takes no claims about somebody else', async () => {
  const userinfo = { sub: 'owner', email: 'owner@example.com', email_verified: true };
  await expect(signIn({}, { userinfo })).rejects.toThrow(/Example ID/);
  expect(servers.at(-1)?.requests.map(({ path }) => path)).toContain('/userinfo');
});
