import { defineErrors, describeRoute, parseJson } from '@trunkline/http';
import type { Context, Hono } from 'hono';
import { z } from 'zod';
import { busFailure } from '../../errors.ts';
import type { SwitchboardEnv } from '../../routes/guards.ts';
import { isSignedBy } from '../webhook-signature.ts';
import { type TrackerHook, trackerHookSchema } from './events.ts';

const errors = defineErrors({
  tracker_signature: [
    401,
    'The signature does not fit: TRACKER_WEBHOOK_SECRET must be the signing secret of the webhook.',
  ],
  tracker_unsigned: [
    401,
    'Webhooks are refused while TRACKER_WEBHOOK_SECRET is unset; set it, or SWITCHBOARD_ALLOW_UNSIGNED=1 where nobody else reaches this port.',
  ],
  tracker_hook: [400, ({ words }: { words: string }) => `This is no webhook of the tracker: ${words}`],
  tracker_old: [
    400,
    'This webhook is more than 5 minutes old, or from the future; check the clock of this machine.',
  ],
});

export interface TrackerWebhook {
  secret: string | undefined;
  allowUnsigned: boolean;
  /** Takes what was sent, unless it was taken before: by its bytes, or by the id that a header names. */
  take(hook: TrackerHook, delivery: Delivery, arrivedAt: number): Promise<void>;
}

interface Delivery {
  body: Uint8Array;
  named: string | undefined;
}

export const trackerHookLimit = 1024 * 1024;
const oldestMs = 5 * 60_000;

export function mountTrackerWebhook(app: Hono<SwitchboardEnv>, webhook: TrackerWebhook): void {
  const about = describeRoute({ summary: 'Webhooks of the tracker', errors: Object.values(errors) });
  for (const path of ['/webhooks/tracker', '/webhooks/linear'])
    app.post(path, about, (context) => receive(context, webhook));
}

async function receive(context: Context, { secret, allowUnsigned, take }: TrackerWebhook): Promise<Response> {
  const arrivedAt = Date.now();
  const body = new Uint8Array(await context.req.arrayBuffer());
  if (secret === undefined && !allowUnsigned) throw errors.tracker_unsigned();
  if (secret !== undefined && !isSignedBy(secret, body, context.req.header('linear-signature')))
    throw errors.tracker_signature();
  const hook = read(body);
  if (Math.abs(arrivedAt - hook.webhookTimestamp) > oldestMs) throw errors.tracker_old();
  const delivery = { body, named: context.req.header('linear-delivery') };
  await take(hook, delivery, arrivedAt).catch((error: unknown) => {
    throw busFailure(error);
  });
  return context.text('OK');
}

function read(body: Uint8Array): TrackerHook {
  const parsed = trackerHookSchema.safeParse(parse(body));
  if (parsed.success) return parsed.data;
  throw errors.tracker_hook({ words: z.prettifyError(parsed.error) });
}

function parse(body: Uint8Array): unknown {
  try {
    return parseJson(new TextDecoder().decode(body));
  } catch (error) {
    throw errors.tracker_hook({ words: 'it is no JSON' }, { cause: error });
  }
}
