import type { Principal } from '@trunkline/identity';
import { BoundedMap } from '@trunkline/std';
import { principalOf } from './account.ts';
import type { Accounts } from './accounts.ts';

/** Somebody who writes on a chat or mail surface. */
export interface Sender {
  /** `discord:1234`, `mail:ava@example.com`. */
  identity: string;
  /** Who they are without an account, where the operator trusts them. */
  as: Principal;
  /** The operator trusts them without an account: on a list, or in a place that the operator named. */
  isListed?: boolean;
  /** The surface vouches for who writes; false where anybody could have written the name, as in a mail without a signature. */
  isProven?: boolean;
}

export interface SendersOptions {
  accounts: Pick<Accounts, 'byIdentity' | 'requestPairing'>;
  /** `off`: everybody counts as listed. */
  pairing: 'required' | 'off';
  /** Address of the page where the operator approves. */
  trustPage(): string;
  /** Called for each code that is given out. */
  onRequest?(identity: string, display: string): void;
  now?: () => number;
}

export type Senders = ReturnType<typeof createSenders>;

const NOTICE_EVERY_MS = 3_600_000;
const MAX_NOTICED = 10_000;
const POINTER = 'I do not know you yet. Send me a direct message, and I give you a code for the operator.';

/** Tells people with an account from strangers, and gives strangers a code for the operator. */
export function createSenders({ accounts, pairing, trustPage, onRequest, now = Date.now }: SendersOptions) {
  const noticed = new BoundedMap<string, number>(MAX_NOTICED);

  /** Their account; else who the operator takes them for; else a guest whose words come from outside. */
  function identify({ identity, as, isListed = false, isProven = true }: Sender): Principal {
    const account = isProven ? accounts.byIdentity(identity) : undefined;
    if (account !== undefined && !account.disabled) return principalOf(account);
    if (account === undefined && (isListed || pairing === 'off')) return as;
    const origins = [{ kind: 'message', source: identity }];
    return { kind: 'person', id: identity, via: [], role: 'guest', origins };
  }

  /** Whether the same was told to somebody within the hour. */
  function isRepeated(what: string, identity: string): boolean {
    const key = `${what} ${identity}`;
    if (now() - (noticed.get(key) ?? Number.NEGATIVE_INFINITY) < NOTICE_EVERY_MS) return true;
    noticed.set(key, now());
    return false;
  }

  /** What a stranger is told where others read along, once an hour unless they must get an answer. */
  function pointer(identity: string, always = false): string | undefined {
    return isRepeated('pointer', identity) && !always ? undefined : POINTER;
  }

  /** What a stranger is told in private, once an hour; undefined in between. */
  function notice(identity: string, display: string): string | undefined {
    if (isRepeated('notice', identity)) return undefined;
    const sorry = 'I do not know you yet, so your message was not delivered.';
    if (accounts.byIdentity(identity)?.disabled)
      return `${sorry} Your account is disabled; ask the operator to enable it.`;
    const request = accounts.requestPairing(identity, display);
    if (request === undefined)
      return `${sorry} Too many others are waiting to be let in. Ask the operator, or write again in an hour.`;
    onRequest?.(identity, display);
    const until = new Date(request.expiresAt).toISOString().slice(11, 16);
    return `${sorry} Your code is ${request.code}. Ask the operator to run "npx trunkline users pair ${request.code} --as NAME", or to approve you at ${trustPage()}. The code works once, until ${until} UTC. With it, what you made here before belongs to that account too. Then send your message again.`;
  }

  return { identify, notice, pointer };
}
