import { createKeyring, describeRoute, parseJson, refuseForeignPage } from '@trunkline/http';
import type { Context } from 'hono';
import { callbackSender, callbackText } from '../delivery/callback-text.ts';
import type { CallbackGrant, CallbackTokens } from '../delivery/callback-tokens.ts';
import type { DeliveryPort } from '../delivery/delivery.ts';
import { voiceErrors } from '../errors.ts';
import type { VoiceApp } from './voice-app.ts';

export interface CallbackRouteOptions {
  delivery: DeliveryPort;
  tokens: CallbackTokens;
  /** When set, callers show it or the token of a delegation. */
  authToken: string | undefined;
  /** Whose news they are when the sender does not tell by a token. */
  recipient: () => string | undefined;
}

/** A caller of the callback; with a grant when it is a delegate that was asked something. */
interface Sender {
  token?: string;
  grant?: CallbackGrant;
}

/** Where agents push results that were not ready when they were asked. */
export function mountCallback(app: VoiceApp, options: CallbackRouteOptions): void {
  const identify = createIdentify(options);
  app.post('/a2a/callback', describeRoute({ summary: 'Bring a user news' }), async (context) => {
    const sender = identify(context);
    const body = parse(await context.req.text());
    if (body === undefined) return context.json({ error: 'invalid json' }, 400);
    const text = callbackText(body.value);
    if (text === undefined) return context.json({ ok: true, delivered: false, reason: 'no text' });
    return context.json(accept(sender, text, callbackSender(body.value), options));
  });
}

function accept(
  sender: Sender,
  text: string,
  named: string | undefined,
  options: CallbackRouteOptions,
): object {
  const { token, grant } = sender;
  if (token !== undefined && grant !== undefined && grant.state !== 'late') {
    if (grant.state === 'asking') options.tokens.update(token, { text });
    return { ok: true, delivered: false, reason: 'already answered' };
  }
  if (token !== undefined) options.tokens.update(token, { state: 'answered' });
  const from = grant?.delegate ?? named ?? 'An agent';
  const userId = grant?.userId ?? options.recipient();
  if (options.delivery.deliver(userId, { from, text, policy: 'next_silence' }))
    return { ok: true, delivered: true };
  return { ok: true, delivered: false, reason: 'no active session', stashed: true };
}

function createIdentify({ authToken, tokens }: CallbackRouteOptions): (context: Context) => Sender {
  const keyring = createKeyring([{ key: authToken, caller: true }]);
  return (context) => {
    if (keyring.size === 0) refuseForeignPage(context.req);
    const shown = tokensShown(context);
    for (const token of shown) {
      const grant = tokens.find(token);
      if (grant !== undefined) return { token, grant };
    }
    if (keyring.size > 0 && !shown.some((token) => keyring.find(token)))
      throw voiceErrors.unknown_key({ headers: { 'www-authenticate': 'Bearer' } });
    return {};
  };
}

function tokensShown({ req }: Context): string[] {
  const bearer = /^bearer +(\S+) *$/i.exec(req.header('authorization') ?? '')?.[1];
  const shown = [req.header('x-api-key')?.trim(), bearer, req.header('x-a2a-notification-token')?.trim()];
  return shown.flatMap((token) => token || []);
}

function parse(text: string): { value: unknown } | undefined {
  try {
    return { value: parseJson(text) };
  } catch {
    return undefined;
  }
}
