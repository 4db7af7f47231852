export { ConfigError } from './config-error.ts';
export { type Environment, readVariable, readVariables } from './environment/environment.ts';
export { loadEnvironmentFile } from './environment/environment-file.ts';
export {
  createLogger,
  type Logger,
  type LoggerSettings,
  type LogLevel,
  type LogMethod,
} from './logger/logger.ts';
export { isAddressRange } from './options/address-range.ts';
export { environmentExample } from './options/example.ts';
export { helpText } from './options/help.ts';
export { choice, decimal, integer, json, list, text, toggle, url } from './options/makers.ts';
export type { Option } from './options/option.ts';
export { directory, file } from './options/path-makers.ts';
export { type OptionSources, readOptions } from './options/read.ts';
export { referencePage } from './options/reference.ts';
export { decodePercent, secretValues } from './options/secret-values.ts';
export {
  fetchOptions,
  homeOptions,
  hostOptions,
  logOptions,
  modelOptions,
  natsOptions,
  pushOptions,
  tracingOptions,
} from './options/shared.ts';
export { defineOptions, group, type OptionSet, type OptionsOf, type OptionTable } from './options/table.ts';
export type { Secrets } from './secrets/hide-text.ts';
export { redact } from './secrets/redact.ts';
export { isSecretName } from './secrets/secret-name.ts';
export { loadYaml } from './yaml/load.ts';
export { parseYaml, type YamlOptions } from './yaml/parse.ts';
export { type DirectoryChange, type DirectoryWatch, watchDirectory } from './yaml/watch-directory.ts';
export { watchYaml, type YamlWatch } from './yaml/watch-yaml.ts';
