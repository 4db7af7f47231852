import { defineErrors, describeRoute, parseJson } from '@trunkline/http';
import type { Context, Hono } from 'hono';
import { busFailure } from '../../errors.ts';
import type { SwitchboardEnv } from '../../routes/guards.ts';
import { deliveryIdOf, isSignedBy } from '../webhooks.ts';
import { HookError, type HookEvent } from './events.ts';

const hookErrors = defineErrors({
  signature_wrong: [
    401,
    'The signature does not fit: CODEHOST_WEBHOOK_SECRET must be the secret of the webhook.',
  ],
  unsigned: [
    401,
    'Webhooks are refused while CODEHOST_WEBHOOK_SECRET is unset; set it, or SWITCHBOARD_ALLOW_UNSIGNED=1 where nobody else reaches this port.',
  ],
  hook_unreadable: [400, ({ words }: { words: string }) => `This is no webhook of the code host: ${words}`],
});

export interface WebhookSettings {
  secret: string | undefined;
  allowUnsigned: boolean;
  /** Takes what was sent; when it returns, nothing of it can be lost any more. */
  take(event: HookEvent): Promise<void>;
}

export const hookPaths = ['/webhook/codehost', '/webhook/github'];
export const hookLimit = 25 * 1024 * 1024;

/** Receives webhooks: the signature is checked on the bytes as they came. */
export function mountWebhook(app: Hono<SwitchboardEnv>, settings: WebhookSettings): void {
  const about = describeRoute({
    summary: 'Webhooks of the code host',
    errors: [hookErrors.signature_wrong, hookErrors.unsigned, hookErrors.hook_unreadable],
  });
  for (const path of hookPaths) app.post(path, about, (context) => receive(context, settings));
}

async function receive(
  context: Context,
  { secret, allowUnsigned, take }: WebhookSettings,
): Promise<Response> {
  const arrivedAt = Date.now();
  const body = new Uint8Array(await context.req.arrayBuffer());
  if (secret === undefined && !allowUnsigned) throw hookErrors.unsigned();
  const signature = context.req.header('x-hub-signature-256')?.replace(/^sha256=/, '');
  if (secret !== undefined && !isSignedBy(secret, body, signature)) throw hookErrors.signature_wrong();
  const name = context.req.header('x-github-event') ?? '';
  const deliveryId = deliveryIdOf(secret, body, context.req.header('x-github-delivery'));
  try {
    await take({ name, deliveryId, payload: parseBody(context, body), arrivedAt });
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof HookError)
      throw hookErrors.hook_unreadable({ words: error.message }, { cause: error });
    throw busFailure(error);
  }
  return context.text('OK');
}

/** JSON, or the form in which the code host sends it where nobody chose. */
function parseBody(context: Context, body: Uint8Array): unknown {
  const text = new TextDecoder().decode(body);
  const isForm = context.req.header('content-type')?.startsWith('application/x-www-form-urlencoded');
  return parseJson(isForm ? (new URLSearchParams(text).get('payload') ?? '') : text);
}
