export { type Environment, keyVariables, masterKey } from './master-key.ts';
export { isSecretStoreName, type SecretInfo, SecretStore, SecretStoreError } from './secret-store.ts';
