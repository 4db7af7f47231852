import type { SecretStore } from '@trunkline/config';
import { type App, defineErrors, describeRoute, requireOperator, validate } from '@trunkline/http';
import type { AuditRecorder, OperatorAccess, Principal } from '@trunkline/identity';
import { CodedError, type SecretsView } from '@trunkline/std';
import { z } from 'zod';

const errors = defineErrors({
  secret_unknown: [404, ({ name }: { name: string }) => `There is no secret ${name}.`],
  secret_refused: [400, ({ words }: { words: string }) => words],
  secrets_unusable: [503, ({ words }: { words: string }) => words],
});

/** What `explainSecrets` throws. */
export const secretErrors = [errors.secret_refused, errors.secrets_unusable] as const;

const body = z.object({
  value: z
    .string()
    .min(1)
    .max(64 * 1024),
});

export interface SecretsDeps {
  secrets: SecretStore;
  operator: OperatorAccess;
  audit: AuditRecorder;
}

/** The secrets of the installation: their names, changes and uses. Values go in and never come out. */
export function mountSecrets<Caller>(
  app: App<Caller>,
  { secrets: store, operator, audit }: SecretsDeps,
): void {
  app.use('/operator/secrets', requireOperator(operator));
  app.use('/operator/secrets/*', requireOperator(operator));
  // The record of the request itself names no secret.
  const record = (action: string, subject: string, principal: Principal) =>
    audit.record({ service: 'trunkline', action, subject, principal, result: 'done' });
  const { secret_unknown, secret_refused, secrets_unusable } = errors;
  const list = describeRoute({
    summary: 'The stored secrets, without their values',
    errors: [secrets_unusable],
  });
  app.get('/operator/secrets', list, (context) => {
    const view: SecretsView = { secrets: explainSecrets(() => store.list()), key: store.keyPlace };
    return context.json(view);
  });
  const set = describeRoute({
    summary: 'Store a secret, or give it another value',
    errors: [secret_refused, secrets_unusable],
  });
  app.put('/operator/secrets/:name', set, validate('json', body), (context) => {
    const name = context.req.param('name');
    explainSecrets(() => store.set(name, context.req.valid('json').value));
    record('secret.set', name, context.get('principal'));
    return context.json({ ok: true });
  });
  const remove = describeRoute({ summary: 'Remove a secret', errors: [secret_unknown, secrets_unusable] });
  app.delete('/operator/secrets/:name', remove, (context) => {
    const name = context.req.param('name');
    if (!explainSecrets(() => store.remove(name))) throw secret_unknown({ name });
    record('secret.remove', name, context.get('principal'));
    return context.json({ ok: true });
  });
}

/** Runs work on the store; what it says of itself is an answer to the caller. */
export function explainSecrets<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (cause) {
    if (!(cause instanceof CodedError)) throw cause;
    const words = cause.message;
    throw cause.code === 'secret_refused'
      ? errors.secret_refused({ words }, { cause })
      : errors.secrets_unusable({ words }, { cause });
  }
}
