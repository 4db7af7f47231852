import { readFile } from 'node:fs/promises';
import {
  AuthorizationError,
  type ConnectionOptions,
  connect,
  credsAuthenticator,
  type NatsConnection,
  PermissionViolationError,
  type ServerInfo,
} from '@nats-io/transport-node';
import { errorMessage } from '@trunkline/std';
import { BusError } from '../errors.ts';
import type { BusLogger } from '../port.ts';
import type { NatsAccess } from './options.ts';

const reconnectEveryMs = 250;
/** Two that stay unanswered mean another server: one that stands still keeps its connections open. */
const pingEveryMs = 2000;
/** Missing permissions that are logged. */
const mostMissing = 100;
/** The oldest version that stores messages safely in a cluster, as far as it was tried. */
const oldestInCluster = '2.10.27';

/** A connection that comes back by itself for as long as the bus runs. */
export class Connection {
  readonly nats: NatsConnection;
  readonly #logger: BusLogger;
  readonly #listeners = new Set<(connected: boolean) => void>();
  /** Each missing permission is logged once. */
  readonly #missing = new Set<string>();
  #connected = true;

  constructor(nats: NatsConnection, logger: BusLogger) {
    this.nats = nats;
    this.#logger = logger;
    void this.#watch();
  }

  get connected(): boolean {
    return this.#connected;
  }

  /** Calls back whenever the connection is lost or comes back, until the returned function is called. */
  onChange(listener: (connected: boolean) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Waits until the server has taken everything sent so far; gives up silently when the connection is lost. */
  async flush(): Promise<void> {
    if (!this.#connected) return;
    try {
      await this.nats.flush();
    } catch (error) {
      this.#logger.warn({ err: error }, 'failed to flush NATS connection');
    }
  }

  async #watch(): Promise<void> {
    for await (const status of this.nats.status()) {
      const { type } = status;
      if (type === 'disconnect') this.#change(false, 'NATS connection lost; reconnecting');
      if (type === 'reconnect') this.#change(true, 'NATS connection restored');
      if (type === 'error') this.#logMissing(status.error);
    }
    this.#change(false, 'NATS connection closed');
  }

  #logMissing(error: Error): void {
    const problem = missingPermission(error);
    if (problem === undefined || this.#missing.size >= mostMissing || this.#missing.has(problem)) return;
    this.#missing.add(problem);
    this.#logger.error({ problem }, 'NATS permission missing');
  }

  #change(connected: boolean, words: string): void {
    if (this.#connected === connected) return;
    this.#connected = connected;
    if (connected) this.#logger.info({}, words);
    else if (!this.nats.isClosed()) this.#logger.warn({}, words);
    for (const listener of this.#listeners) listener(connected);
  }
}

/** Which permission the user lacks, and where it is listed; undefined for any other failure. */
export function missingPermission(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if (!(error instanceof PermissionViolationError)) return missingPermission(error.cause);
  const verb = error.operation === 'publish' ? 'publish' : 'subscribe';
  return `The user of NATS may not ${verb} to ${error.subject}. Give it the permissions that docs/several-machines.md lists.`;
}

export async function openConnection(
  access: NatsAccess,
  timeoutMs: number,
  logger: BusLogger,
): Promise<Connection> {
  const options = await connectionOptions(access, timeoutMs);
  try {
    return new Connection(await connect(options), logger);
  } catch (error) {
    throw connectFailure(addressesOf(access), error);
  }
}

/**
 * Why the servers should be replaced. A server of 2.9 that led and comes back goes on with its own end of the log, and
 * then lacks messages that a majority had confirmed, or leads and the others lack them.
 */
export function serverWarning(info: Pick<ServerInfo, 'cluster' | 'version'> | undefined): string | undefined {
  if (!info?.cluster || info.version.localeCompare(oldestInCluster, 'en', { numeric: true }) >= 0)
    return undefined;
  return `NATS ${info.version} in a cluster can lose messages that it has confirmed, when the server that leads is killed or stands still for some seconds. Use ${oldestInCluster} or newer.`;
}

async function connectionOptions(access: NatsAccess, timeout: number): Promise<ConnectionOptions> {
  const urls = addressesOf(access);
  const [first] = urls;
  const user = access.user ?? decoded(first?.username);
  const pass = access.password ?? decoded(first?.password);
  const { token, credentialsFile } = access;
  return {
    servers: urls.map((url) => url.host),
    name: 'trunkline',
    timeout,
    maxReconnectAttempts: -1,
    reconnectTimeWait: reconnectEveryMs,
    pingInterval: pingEveryMs,
    ignoreAuthErrorAbort: true,
    noAsyncTraces: true,
    ...(user === undefined ? {} : { user }),
    ...(pass === undefined ? {} : { pass }),
    ...(token === undefined ? {} : { token }),
    ...(credentialsFile === undefined ? {} : { authenticator: await credentials(credentialsFile) }),
    ...tlsOptions(access, urls),
  };
}

function addressesOf({ servers }: NatsAccess): URL[] {
  const addresses = servers.split(',').map((address) => address.trim());
  return addresses.map((address) => {
    const url = URL.parse(address.includes('://') ? address : `nats://${address}`);
    if (url !== null && url.hostname !== '') return url;
    throw new BusError('options_refused', 'NATS_URL is not an address: write it like nats://host:4222.');
  });
}

function decoded(text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : decodeURIComponent(text);
}

async function credentials(file: string) {
  try {
    return credsAuthenticator(await readFile(file));
  } catch (error) {
    const words = `The NATS credentials file ${file} cannot be used: ${errorMessage(error)}. Correct NATS_CREDS.`;
    throw new BusError('options_refused', words, { cause: error });
  }
}

function tlsOptions({ tls }: NatsAccess, urls: readonly URL[]): Pick<ConnectionOptions, 'tls'> {
  if (tls === undefined && !urls.some((url) => url.protocol === 'tls:')) return {};
  const { caFile, certificateFile, keyFile } = tls ?? {};
  return {
    tls: {
      ...(caFile === undefined ? {} : { caFile }),
      ...(certificateFile === undefined ? {} : { certFile: certificateFile }),
      ...(keyFile === undefined ? {} : { keyFile }),
    },
  };
}

/** Names the address without credentials. */
function connectFailure(urls: readonly URL[], error: unknown): BusError {
  const place = urls.map((url) => url.host).join(', ');
  if (
    error instanceof AuthorizationError ||
    (error instanceof Error && error.cause instanceof AuthorizationError)
  ) {
    const words = `NATS at ${place} refuses these credentials: check NATS_USER and NATS_PASSWORD, NATS_TOKEN or NATS_CREDS.`;
    return new BusError('connection_refused', words, { cause: error });
  }
  const words = `NATS at ${place} cannot be reached: ${errorMessage(error)}. Start it, or correct NATS_URL and the TLS settings.`;
  return new BusError('connection_failed', words, { cause: error });
}
