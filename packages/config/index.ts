export { type SecretStore, SecretStoreError } from '@trunkline/secrets';
export { ConfigError, lineProblem, nearest } from './config-error.ts';
export {
  assignmentsOf,
  changeEnvironmentFile,
  type Environment,
  knownVariables,
  loadEnvironmentFile,
  readEnvironment,
  readVariable,
  readVariables,
  reloadEnvironmentFile,
  variableText,
} from './environment/environment.ts';
export { createLogger, type Logger, type LoggerSettings, type LogLevel } from './logger/logger.ts';
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
export { grpcOptions, natsOptions } from './options/network.ts';
export {
  decodePercent,
  defineOptions,
  group,
  type Option,
  type OptionSet,
  type OptionsOf,
  type OptionTable,
  type StartContext,
  secretValues,
} from './options/option.ts';
export { readOptions } from './options/read.ts';
export { environmentExample, referencePage } from './options/reference.ts';
export { requestHeaders, secretsInHeaders } from './options/request-headers.ts';
export {
  contentOptions,
  fetchOptions,
  homeOptions,
  hostOptions,
  logOptions,
  modelOptions,
  oidcOptions,
  pairingOptions,
  pushOptions,
  sandboxOptions,
  tracingOptions,
} from './options/shared.ts';
export {
  plainSecretsIn,
  plainVariables,
  removeUnreferenced,
  secretNameOf,
  storePlainSecrets,
  withReferences,
} from './secrets/plain-secrets.ts';
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
export { loadYaml, notPlain, readPlainFile } from './yaml/load.ts';
export { parseYaml } from './yaml/parse.ts';
export { type DirectoryChange, type DirectoryWatch, watchDirectory } from './yaml/watch-directory.ts';
export { watchYaml, type YamlWatch } from './yaml/watch-yaml.ts';
