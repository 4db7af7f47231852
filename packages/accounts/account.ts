import { accountPrincipal, type Principal, type Role } from '@trunkline/identity';
import { accountErrors } from './errors.ts';

/** A person of this installation, however they come in. */
export interface Account {
  id: string;
  name: string;
  role: Role;
  /** Keeps everything, but comes in nowhere. */
  disabled: boolean;
  createdAt: number;
  /** When a key or session of the account was last used, to the minute. */
  lastSeenAt?: number;
  /** `discord:1234`, `mail:ava@example.com`, `oidc:<issuer>#<sub>`, `voice:ava`. */
  identities: string[];
}

export interface AccountKey {
  keyId: string;
  label: string;
  createdAt: number;
  lastUsedAt?: number;
}

/** Somebody whom a file of one service lists: voice's `users.yaml`, the switchboard's keys. */
export interface ListedPerson {
  /** The file. */
  source: string;
  identity: string;
  name: string;
  role: Role;
}

/** Throws for a disabled account. */
export function principalOf({ id, name, role, disabled }: Account): Principal {
  if (disabled) throw accountErrors.account_disabled({ name });
  return accountPrincipal(id, role);
}

/** The surfaces whose people accounts know under the name of the product. */
const PRODUCTS: Readonly<Record<string, string>> = { discord: 'chat', signal: 'messenger' };

/** An identity as `approvers.yaml` writes it: `chat:1234` for `discord:1234`. */
export function nameOnSurface(identity: string): string {
  const [product = '', ...rest] = identity.split(':');
  return `${PRODUCTS[product] ?? product}:${rest.join(':')}`;
}
