import { createKeyring, describeRoute, parseJson, refuseForeignName, tryKeys } from '@trunkline/http';
import type { Context } from 'hono';
import type { RouteDeps, VoiceApp } from '../components.ts';
import { type CallbackGrant, type Pushed, readPushed } from '../delivery/callbacks.ts';
import { pushedBy } from '../delivery/delivery-controller.ts';
import { voiceErrors } from '../errors.ts';

type CallbackDeps = Pick<RouteDeps, 'delivery' | 'tokens' | 'questions' | 'admission' | 'options' | 'users'>;

/** A caller of the callback; a delegate that was asked something has a grant. */
interface Sender {
  token?: string;
  grant?: CallbackGrant;
}

/** Where agents push late results. */
export function mountCallback(app: VoiceApp, deps: CallbackDeps): void {
  const identify = createIdentify(deps);
  app.post('/a2a/callback', describeRoute({ summary: 'Bring a user news' }), async (context) => {
    const sender = identify(context);
    const body = parse(await context.req.text());
    if (body === undefined) return context.json({ error: 'invalid json' }, 400);
    const pushed = readPushed(body.value);
    if (pushed.text === undefined) return context.json({ ok: true, delivered: false, reason: 'no text' });
    return context.json(accept(sender, { ...pushed, text: pushed.text }, deps));
  });
}

function accept(
  { token, grant }: Sender,
  { text, from: named, question }: Pushed & { text: string },
  { delivery, questions, tokens, options, users }: CallbackDeps,
): object {
  if (question !== undefined && grant !== undefined && grant.state !== 'answered')
    questions.set(grant.userId, grant.delegate, question);
  if (token !== undefined && grant !== undefined && grant.state !== 'late') {
    if (grant.state === 'asking') tokens.update(token, { text });
    return { ok: true, delivered: false, reason: 'already answered' };
  }
  // A question back is no answer yet.
  if (token !== undefined && question === undefined) tokens.update(token, { state: 'answered' });
  const from = grant?.delegate ?? named ?? 'An agent';
  const isHeard = delivery.deliver(grant?.userId ?? users.find(options.a2aUserId)?.id, {
    from,
    text,
    policy: 'next_silence',
    origins: pushedBy(from),
  });
  if (isHeard) return { ok: true, delivered: true };
  return { ok: true, delivered: false, reason: 'no active session', stashed: true };
}

function createIdentify({ options, tokens, admission }: CallbackDeps): (context: Context) => Sender {
  const keyring = createKeyring([{ key: options.a2aAuthToken, caller: true }]);
  return (context) => {
    if (keyring.size === 0) refuseForeignName(context);
    const shown = tokensShown(context);
    for (const token of shown) {
      const grant = tokens.find(token);
      if (grant !== undefined) return { token, grant };
    }
    const isKnown = () => shown.some((token) => keyring.find(token)) || undefined;
    if (keyring.size > 0 && !tryKeys(context, shown, isKnown))
      throw voiceErrors.unknown_key({ headers: { 'www-authenticate': 'Bearer' } });
    if (
      keyring.size === 0 &&
      context.get('principal').kind === 'anonymous' &&
      admission.operatorOnlyBecause()
    )
      throw admission.refuse({ headers: { 'www-authenticate': 'Bearer' } });
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
