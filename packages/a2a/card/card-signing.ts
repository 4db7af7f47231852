import { createHash, createPrivateKey, createPublicKey, type JsonWebKey, sign, verify } from 'node:crypto';
import { canonicalizeAgentCard } from '@a2a-js/sdk';
import { readOrCreateSecret } from '@trunkline/identity';
import { isObject } from '../dialects/read/values.ts';

/** Where services show the keys that sign their cards. */
export const jwksPath = '/.well-known/jwks.json';

export interface CardSigner {
  /** The public key, in the form of RFC 7517. */
  readonly jwks: { keys: readonly JsonWebKey[] };
  /** The card with its signature; the same card always has the same one. */
  sign(card: object, jku: string): object;
}

/** The first bytes of an Ed25519 key in PKCS #8; the 32 bytes of the seed follow. */
const pkcs8 = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Signs with the key in `a2a-card-key` of the home, which is made when it is missing. */
export function createCardSigner(home: string): CardSigner {
  const seed = Buffer.from(readOrCreateSecret(home, 'a2a-card-key'), 'base64url');
  const key = createPrivateKey({ key: Buffer.concat([pkcs8, seed]), format: 'der', type: 'pkcs8' });
  const { kty, crv, x } = createPublicKey(key).export({ format: 'jwk' });
  // The thumbprint of RFC 7638: the fields stand in this order.
  const kid = createHash('sha256').update(JSON.stringify({ crv, kty, x })).digest('base64url');
  return {
    jwks: { keys: [{ kty, crv, x, kid, alg: 'EdDSA', use: 'sig' } as JsonWebKey] },
    sign(card, jku) {
      const header = base64url(JSON.stringify({ alg: 'EdDSA', typ: 'JOSE', kid, jku }));
      const signature = sign(null, signingInput(header, payloadOf(card)), key).toString('base64url');
      return { ...card, signatures: [{ protected: header, signature }] };
    },
  };
}

/** `signed`: nobody has said which keys to believe. */
export type CardSignature = 'none' | 'signed' | 'verified';

/** Tried for one signature: those at an address are as many as its owner likes. */
const mostKeys = 20;

/** Undefined when one of the signatures is by one of the keys; else why none is. */
export function whyUnverified(card: object, keys: readonly JsonWebKey[]): string | undefined {
  const signatures = signaturesOf(card);
  if (signatures.length === 0) return 'its card is not signed';
  const known = signatures.flatMap((signature) =>
    keys
      .filter(({ kid }) => kid === undefined || kid === signature.kid)
      .slice(0, mostKeys)
      .map((key) => ({ key, signature })),
  );
  if (known.length === 0) return 'its card is signed with a key that is not among those we trust';
  const payload = payloadOf(card);
  const isRight = known.some(({ key, signature }) => isSignedBy(payload, signature, key));
  return isRight ? undefined : 'its card was changed after it was signed';
}

interface Signature {
  header: string;
  alg: unknown;
  kid: unknown;
  bytes: Buffer;
}

function signaturesOf(card: object): Signature[] {
  const given = 'signatures' in card && Array.isArray(card.signatures) ? card.signatures : [];
  return given.slice(0, 10).flatMap((entry: unknown) => {
    if (!isObject(entry) || typeof entry.protected !== 'string' || typeof entry.signature !== 'string')
      return [];
    const { alg, kid } = readHeader(entry.protected);
    return [{ header: entry.protected, alg, kid, bytes: Buffer.from(entry.signature, 'base64url') }];
  });
}

function readHeader(text: string): Record<string, unknown> {
  try {
    const header: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    return isObject(header) ? header : {};
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}

/** The algorithm must fit the key: a public key is never taken for a shared secret. */
const algorithms: Record<string, { kty: string; hash: string | null }> = {
  EdDSA: { kty: 'OKP', hash: null },
  Ed25519: { kty: 'OKP', hash: null },
  ES256: { kty: 'EC', hash: 'sha256' },
  ES384: { kty: 'EC', hash: 'sha384' },
  RS256: { kty: 'RSA', hash: 'sha256' },
};

function isSignedBy(payload: string, { header, alg, bytes }: Signature, jwk: JsonWebKey): boolean {
  const algorithm = Object.hasOwn(algorithms, String(alg)) ? algorithms[String(alg)] : undefined;
  if (algorithm === undefined || algorithm.kty !== jwk.kty) return false;
  try {
    const key = createPublicKey({ key: jwk, format: 'jwk' });
    return verify(algorithm.hash, signingInput(header, payload), { key, dsaEncoding: 'ieee-p1363' }, bytes);
  } catch {
    // A key that is broken or for another purpose, such as X25519: the next one may fit.
    return false;
  }
}

/** The SDK's canonical form: the fields of 1.0 alone, without those that are empty, as RFC 8785 writes them. */
function payloadOf(card: object): string {
  return base64url(canonicalizeAgentCard(card as Parameters<typeof canonicalizeAgentCard>[0]));
}

function signingInput(header: string, payload: string): Buffer {
  return Buffer.from(`${header}.${payload}`);
}

function base64url(text: string): string {
  return Buffer.from(text).toString('base64url');
}
