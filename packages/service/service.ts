import type { Environment, Logger } from '@trunkline/config';
import type { Family } from './family.ts';
import type { Missing } from './missing.ts';

/** What starting a service gives: where it is, what it lacks for full function, and the way to stop it. */
export interface Service {
  readonly url: string;
  missing(): readonly Missing[];
  /** Every method and path that it answers. */
  routes(): readonly { method: string; path: string }[];
  stop(): Promise<void>;
}

/** Another service of the same installation, as pages link to it. */
export interface ServiceLink {
  name: string;
  url: string;
  state: 'live' | 'failed';
}

/** What a service gets from whoever starts it. */
export interface Surroundings {
  logger: Logger;
  /** Keeps a secret that was read later than the options out of the log. */
  hide?: (secret: string) => void;
  /** The services that run together with this one and call each other; undefined for one that runs alone. */
  family?: Family;
  /** The services that run together with this one, itself included. */
  services?: () => readonly ServiceLink[];
  /** Where variables whose names come from data are read; the process's own when not given. */
  env?: Environment;
  /** The variable to name when the port is taken, where it is not the service's own. */
  portVariable?: string;
}
