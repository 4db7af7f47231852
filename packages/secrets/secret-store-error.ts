import { CodedError } from '@trunkline/std';

export type SecretStoreErrorCode =
  | 'secrets_key_missing'
  | 'secrets_key_wrong'
  | 'secrets_key_weak'
  | 'secrets_damaged'
  | 'secrets_unusable'
  | 'secret_refused';

/** Says what to do, and names the variable or the file. */
export class SecretStoreError extends CodedError<SecretStoreErrorCode> {
  override readonly name = 'SecretStoreError';
}
