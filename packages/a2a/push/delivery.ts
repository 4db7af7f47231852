import { isAddressRange } from '@trunkline/config';
import { assertPublicUrl, createGuardedFetch, HttpError, type Lookup } from '@trunkline/http';
import type { Clock } from '@trunkline/schedule';
import { errorMessage } from '@trunkline/std';
import { invalidParams } from '../errors/a2a-error.ts';
import type { TaskState } from '../protocol/model.ts';
import type { PushConfig, PushDelivery } from './push-store.ts';

const attemptTimeoutMs = 10_000;

const refusal =
  'webhook url rejected: must be http/https, public IP, not loopback/private/link-local/multicast/reserved';

/** What a webhook is told. */
export interface Notification {
  state: TaskState;
  contentType: string;
  body: string;
}

export interface DeliveryOptions {
  guard: PushGuard;
  clock: Clock;
  record(delivery: PushDelivery): void;
}

const pausesMs = [1000, 3000, 9000];
const forbiddenReason =
  'the host leads to a private address; PUSH_NOTIFICATION_ALLOWED_HOSTS or PUSH_NOTIFICATION_ALLOWED_CIDRS can open it';

/** Tries until the receiver accepts or refuses it, or three retries have failed. */
export async function deliver(
  config: PushConfig,
  notification: Notification,
  options: DeliveryOptions,
  signal: AbortSignal,
): Promise<void> {
  for (let attempt = 1; attempt <= pausesMs.length + 1; attempt += 1) {
    const result = await tryOnce(config, notification, options.guard, signal);
    if (signal.aborted) return;
    const { state } = notification;
    const at = options.clock.now();
    options.record({ taskId: config.taskId, configId: config.id, at, state, attempt, ...result });
    if (result.outcome !== 'failed') return;
    await pause(pausesMs[attempt - 1], options.clock, signal);
  }
}

async function tryOnce(
  config: PushConfig,
  { contentType, body }: Notification,
  guard: PushGuard,
  signal: AbortSignal,
): Promise<Pick<PushDelivery, 'outcome' | 'status' | 'reason'>> {
  try {
    const headers = { 'content-type': contentType, ...tokenHeaders(config) };
    const status = await guard.post(config.url, headers, body, signal);
    return { outcome: outcomeOf(status), status };
  } catch (error) {
    const forbidden = error instanceof HttpError && error.code === 'address_refused';
    return forbidden
      ? { outcome: 'refused', reason: forbiddenReason }
      : { outcome: 'failed', reason: errorMessage(error) };
  }
}

function tokenHeaders({ token, scheme, notificationToken }: PushConfig): Record<string, string> {
  return token === undefined
    ? {}
    : { authorization: `${scheme} ${token}`, 'x-a2a-notification-token': notificationToken ?? token };
}

function outcomeOf(status: number): PushDelivery['outcome'] {
  if (status >= 200 && status < 300) return 'delivered';
  return status >= 400 && status < 500 ? 'refused' : 'failed';
}

/** After the last attempt there is nothing to wait for. */
function pause(ms: number | undefined, clock: Clock, signal: AbortSignal): Promise<void> {
  if (ms === undefined || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = clock.setTimer(ms, resolve);
    signal.addEventListener(
      'abort',
      () => {
        timer.cancel();
        resolve();
      },
      { once: true },
    );
  });
}

export interface PushGuardOptions {
  /** Hosts that skip the check; PUSH_NOTIFICATION_ALLOWED_HOSTS. */
  allowedHosts?: readonly string[];
  /** Blocks that are open although they are not public; PUSH_NOTIFICATION_ALLOWED_CIDRS. */
  allowedCidrs?: readonly string[];
  /** Origins that are open although they are private, port and all: those of the services beside this one. */
  allowedOrigins?: () => readonly string[];
  /** How hosts are resolved; tests bring their own. */
  lookup?: Lookup;
}

/** Keeps webhooks from reaching into private networks, when they are registered and again when they are used. */
export interface PushGuard {
  /** Throws when notifications may not go to this address. */
  check(url: string): Promise<void>;
  /** Resolves with the status of the answer. The address is checked anew and nothing else is connected to. */
  post(url: string, headers: Record<string, string>, body: string, signal: AbortSignal): Promise<number>;
}

export function createPushGuard(options: PushGuardOptions): PushGuard {
  const { allowedOrigins = () => [], ...rest } = options;
  const isRelated = (url: URL) => allowedOrigins().includes(url.origin);
  const policy = { ...rest, allowedCidrs: checkedCidrs(options.allowedCidrs ?? []) };
  const allowedHosts = new Set((options.allowedHosts ?? []).map((host) => host.trim().toLowerCase()));
  const send = createGuardedFetch({
    ...policy,
    timeoutMs: attemptTimeoutMs,
    maxRedirects: 0,
    // The status says all: a body that comes slowly, or without an end, is no failure.
    maxBytes: 0,
    overflow: 'cut',
  });
  return {
    async check(url) {
      const parsed = webAddress(url);
      if (allowedHosts.has(parsed.hostname) || isRelated(parsed)) return;
      await assertPublicUrl(parsed, policy).catch((error: unknown) => {
        throw error instanceof HttpError ? invalidParams(refusal, 'url') : error;
      });
    },
    async post(url, headers, body, signal) {
      if (isRelated(new URL(url))) return await postPlainly(url, headers, body, signal);
      const { status } = await send(url, { method: 'POST', headers, body, signal });
      return status;
    },
  };
}

async function postPlainly(
  url: string,
  headers: Record<string, string>,
  body: string,
  signal: AbortSignal,
): Promise<number> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(attemptTimeoutMs)]);
  const response = await fetch(url, { method: 'POST', headers, body, signal: limit, redirect: 'manual' });
  await response.body?.cancel();
  return response.status;
}

function webAddress(text: string): URL {
  const url = URL.parse(text);
  if (url !== null && (url.protocol === 'http:' || url.protocol === 'https:')) return url;
  throw invalidParams(refusal, 'url');
}

function checkedCidrs(cidrs: readonly string[]): string[] {
  const given = cidrs.map((cidr) => cidr.trim()).filter((cidr) => cidr !== '');
  const wrong = given.find((cidr) => !isAddressRange(cidr));
  if (wrong === undefined) return given;
  throw new Error(
    `PUSH_NOTIFICATION_ALLOWED_CIDRS: "${wrong}" is not an address block; write it like 10.0.0.0/8 or fd00::/8`,
  );
}
