import { BusError } from '../errors.ts';
import { type CommonOptions, checkedNumbers } from '../options.ts';

/** How to reach and enter the NATS servers. */
export interface NatsAccess {
  /** Addresses such as `nats://host:4222`, also several with commas between; `tls://` asks for TLS. */
  servers: string;
  user?: string;
  password?: string;
  token?: string;
  /** Path of a `.creds` file. */
  credentialsFile?: string;
  /** Paths of PEM files; giving any asks for TLS. */
  tls?: { caFile?: string; certificateFile?: string; keyFile?: string };
}

export interface NatsBusOptions extends CommonOptions, NatsAccess {
  /** First token of all subjects and part of the names of streams; buses with the same prefix are one. Default `bus`. */
  prefix?: string;
  /** Copies of each stream and bucket; default 3 on a cluster of three servers or more, else 1. Existing ones keep more. */
  replicas?: number | undefined;
  /** After this time without a sign of life a message begun elsewhere is redelivered; default 30 seconds. */
  ackWaitMs?: number;
  /** How long a publish waits for a server that is away or elects a leader; default 30 seconds. */
  publishTimeoutMs?: number;
  /** How many publishes may wait at once; default 10,000. */
  maxPending?: number;
  /** How long the connection to a server may take; default 5 seconds. */
  connectTimeoutMs?: number;
  /**
   * A file that records when the streams and buckets were created: what vanishes while no bus runs is then reported at the
   * next start, as soon as this bus has a subscriber to `system.error`.
   */
  streamsFile?: string;
  /**
   * Gives a bus also while no server can be used, and tries on, as it does with subscriptions, leases and memories while the
   * servers elect leaders. Wrong credentials and missing permissions are errors nevertheless.
   */
  waitForServers?: boolean;
  /** With `waitForServers`: from then on subscriptions, leases and memories fail where they would wait longer than a publish. */
  started?: Promise<unknown>;
}

const defaults = {
  ackWaitMs: 30_000,
  publishTimeoutMs: 30_000,
  maxPending: 10_000,
  connectTimeoutMs: 5000,
};

export type NatsSettings = typeof defaults & { prefix: string; replicas: number | undefined };

const mostReplicas = 5;

export function natsSettingsOf(options: NatsBusOptions): NatsSettings {
  const { prefix = 'bus' } = options;
  if (!/^[A-Za-z0-9_-]{1,32}$/.test(prefix)) {
    const words = `The bus option prefix is ${JSON.stringify(prefix)}: use 1 to 32 letters, digits, "-" or "_".`;
    throw new BusError('options_refused', words);
  }
  const { replicas } = options;
  if (
    replicas !== undefined &&
    !(Number.isSafeInteger(replicas) && replicas >= 1 && replicas <= mostReplicas)
  )
    throw new BusError(
      'options_refused',
      `NATS_REPLICAS is ${replicas}: give a whole number from 1 to ${mostReplicas}.`,
    );
  return { prefix, replicas, ...checkedNumbers(options, defaults) };
}
