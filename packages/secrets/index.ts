export { type Environment, keyVariables, masterKey } from './master-key.ts';
export { isSecretStoreName, SecretStore, SecretStoreError } from './secret-store.ts';
