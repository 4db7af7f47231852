import type { Environment, Logger } from '@trunkline/config';
import { type OperatorAccess, openOperatorAccess, operatorAccess } from '@trunkline/identity';
import type { Missing } from './missing.ts';
import type { Peers, ServiceLink } from './peers.ts';

/** What starting a service gives: where it is, what it lacks for full function, and the way to stop it. */
export interface Service {
  readonly url: string;
  missing(): readonly Missing[];
  /** Every method and path that it answers. */
  routes(): readonly { method: string; path: string }[];
  stop(): Promise<void>;
  /** Whether callers need a key of this service. */
  requiresKey?(): boolean;
}

/** What a service gets from whoever starts it, besides its options. */
export interface ServiceContext {
  logger: Logger;
  /** Keeps a secret that was read later than the options out of the log. */
  hide?: (secret: string) => void;
  /** The services that run together with this one and call each other; undefined for one that runs alone. */
  peers?: Peers;
  /** How the operator is recognised; services of one process share it. From the home of the options when not given. */
  operator?: OperatorAccess;
  /** The services that run together with this one, itself included. */
  services?: () => readonly ServiceLink[];
  /** Where variables whose names come from data are read; the process's own when not given. */
  env?: Environment;
  /** The variable to name when the port is taken, where it is not the service's own. */
  portVariable?: string;
}

/** The operator's access that a service was given, or the one of its home. */
export function operatorOf(
  { trunklineHome, trunklineOpen }: { trunklineHome: string; trunklineOpen: boolean },
  { operator, hide }: ServiceContext,
): OperatorAccess {
  const access = operator ?? (trunklineOpen ? openOperatorAccess : operatorAccess(trunklineHome));
  for (const secret of access.secrets) hide?.(secret);
  return access;
}
