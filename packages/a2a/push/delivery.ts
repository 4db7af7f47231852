import { HttpError } from '@trunkline/http';
import type { Clock } from '@trunkline/schedule';
import { errorMessage } from '@trunkline/std';
import type { TaskState } from '../protocol/model.ts';
import type { PushConfig } from './push-config.ts';
import type { PushGuard } from './push-guard.ts';
import type { PushDelivery } from './push-store.ts';

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

/** Tries until the receiver has it, says that it does not want it, or three retries have failed. */
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

function tokenHeaders({ token, scheme }: PushConfig): Record<string, string> {
  return token === undefined
    ? {}
    : { authorization: `${scheme} ${token}`, 'x-a2a-notification-token': token };
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
