export { isSecretStoreName, type SecretStore, SecretStoreError } from '@trunkline/secrets';
export { ConfigError, lineProblem, nearest } from './config-error.ts';
export {
  changeEnvironmentFile,
  type Environment,
  loadEnvironmentFile,
  readEnvironment,
  readVariable,
  readVariables,
  variableText,
} from './environment/environment.ts';
export { knownVariables } from './environment/known-variables.ts';
export {
  createLogger,
  type Logger,
  type LoggerSettings,
  type LogLevel,
  type LogMethod,
} from './logger/logger.ts';
export { environmentExample } from './options/example.ts';
export { helpText } from './options/help.ts';
export {
  choice,
  decimal,
  directory,
  file,
  integer,
  isAddressRange,
  json,
  list,
  text,
  toggle,
  url,
} from './options/makers.ts';
export type { Option } from './options/option.ts';
export {
  decodePercent,
  defineOptions,
  group,
  type OptionSet,
  type OptionsOf,
  type OptionTable,
  type StartContext,
  secretValues,
} from './options/option.ts';
export { type OptionSources, readOptions } from './options/read.ts';
export { referencePage } from './options/reference.ts';
export {
  fetchOptions,
  grpcOptions,
  homeOptions,
  hostOptions,
  logOptions,
  modelOptions,
  natsOptions,
  oidcOptions,
  pairingOptions,
  pushOptions,
  sandboxOptions,
  tracingOptions,
} from './options/shared.ts';
export {
  isPlainSecret,
  plainSecretsIn,
  plainVariables,
  removeUnreferenced,
  secretNameOf,
  storePlainSecrets,
  withReferences,
} from './secrets/plain-secrets.ts';
export type { Secrets } from './secrets/redact.ts';
export { hideSecrets, isSecretName, redact } from './secrets/redact.ts';
export { secretReference, secretStoreOf } from './secrets/references.ts';
export { describeSettings } from './settings/describe.ts';
export {
  changeSettings,
  followSettings,
  parseSettings,
  problemWithName,
  readSettingsText,
  settingsPath,
} from './settings/settings-file.ts';
export { loadYaml, notPlain } from './yaml/load.ts';
export { parseYaml, type YamlOptions } from './yaml/parse.ts';
export { type DirectoryChange, type DirectoryWatch, watchDirectory } from './yaml/watch-directory.ts';
export { watchYaml, type YamlWatch } from './yaml/watch-yaml.ts';
