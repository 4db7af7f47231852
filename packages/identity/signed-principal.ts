import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { decodePrincipal, encodePrincipal, type Principal } from './principal.ts';

/** A principal that one service hands to another inside of a message, where headers may not arrive. */
export interface SignedPrincipal {
  /** As in the header, see `encodePrincipal`. */
  readonly principal: string;
  /** Milliseconds since 1970. */
  readonly issuedAt: number;
  /** Makes each claim one of its own, so that it counts once. */
  readonly nonce: string;
  readonly signature: string;
}

/** What a claim is about: it counts for nothing else. */
export interface SignedSubject {
  /** The service that is asked. */
  readonly to: string;
  /** The whole message, written the same way by both sides. */
  readonly message: string;
}

export type PrincipalCheck =
  | { principal: Principal }
  /** `isUntimely`: a service of this installation signed it, but clocks differ, this one has just started or gets too many. */
  | { refusal: string; isUntimely?: true };

/** Claims are refused when they are older, or newer by a clock that is wrong. */
const LIFETIME_MS = 5 * 60_000;
/** Claims within their lifetime that a service remembers. More are refused, so that none counts twice. */
const MAX_USED = 100_000;

/** The principal that another service told of, by header or message. It counts only when a service handed it on. */
export function readHandedOn(encoded: string): Principal | undefined {
  const principal = decodePrincipal(encoded);
  return principal === undefined || principal.via.length === 0 ? undefined : principal;
}

/** For the receiver named in `subject`; whoever has no service token cannot sign. */
export function signPrincipal(
  principal: Principal,
  subject: SignedSubject,
  { token, now }: { token: string; now: number },
): SignedPrincipal {
  const claim = {
    principal: encodePrincipal(principal),
    issuedAt: Math.round(now),
    nonce: randomBytes(12).toString('base64url'),
  };
  return { ...claim, signature: signatureOf(token, claim, subject) };
}

/** Checks claims for one service; each counts once. What was signed before the service started is not known to be unused. */
export function createPrincipalCheck(
  token: string,
  service: string,
  { now = Date.now, most = MAX_USED }: { now?: () => number; most?: number } = {},
): (given: unknown, message: string) => PrincipalCheck {
  const startedAt = now();
  const used = new Map<string, number>();
  const forgetEnded = () => {
    // Oldest first: their lifetimes end in nearly the order in which they came.
    for (const [known, end] of used) {
      if (end > now()) break;
      used.delete(known);
    }
  };
  return (given, message) => {
    const claim = readClaim(given);
    if (claim === undefined) return { refusal: 'it cannot be read' };
    if (!isSame(claim.signature, signatureOf(token, claim, { to: service, message })))
      return {
        refusal: `it was not signed for this message to ${service} by a service of this installation`,
      };
    if (Math.abs(now() - claim.issuedAt) > LIFETIME_MS)
      return { refusal: 'it has expired; check the clocks, and send the message anew', isUntimely: true };
    if (claim.issuedAt < startedAt)
      return {
        refusal: `it was signed before ${service} started; check the clocks, and send the message anew`,
        isUntimely: true,
      };
    forgetEnded();
    if (used.has(claim.nonce)) return { refusal: 'it was used already; send the message anew' };
    if (used.size >= most)
      return {
        refusal: `${service} got more than ${most} in five minutes; try again later`,
        isUntimely: true,
      };
    const principal = readHandedOn(claim.principal);
    if (principal === undefined) return { refusal: 'it names nobody for whom a service asks' };
    used.set(claim.nonce, claim.issuedAt + LIFETIME_MS + 1);
    return { principal };
  };
}

function readClaim(given: unknown): SignedPrincipal | undefined {
  if (typeof given !== 'object' || given === null) return undefined;
  const { principal, issuedAt, nonce, signature }: Partial<Record<keyof SignedPrincipal, unknown>> = given;
  const isRead =
    typeof principal === 'string' &&
    typeof issuedAt === 'number' &&
    Number.isSafeInteger(issuedAt) &&
    typeof nonce === 'string' &&
    nonce.length <= 64 &&
    typeof signature === 'string';
  return isRead ? { principal, issuedAt, nonce, signature } : undefined;
}

type Claim = Pick<SignedPrincipal, 'principal' | 'issuedAt' | 'nonce'>;

function signatureOf(token: string, { principal, issuedAt, nonce }: Claim, subject: SignedSubject): string {
  const signed = JSON.stringify(['principal-v1', principal, issuedAt, nonce, subject.to, subject.message]);
  return createHmac('sha256', token).update(signed).digest('base64url');
}

/** Takes the same time wherever the texts differ. */
function isSame(left: string, right: string): boolean {
  const [one, other] = [Buffer.from(left), Buffer.from(right)];
  return one.length === other.length && timingSafeEqual(one, other);
}
