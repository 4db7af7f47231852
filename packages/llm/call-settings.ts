import { AsyncLocalStorage } from 'node:async_hooks';
import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider';

/** Takes the names of parameters that a call carried and that were not sent, as the endpoint refuses them. */
type OnOmitted = (names: readonly string[]) => void;

const listeners = new AsyncLocalStorage<OnOmitted>();

/** Applies settings to each call of a model, and tells which of them the endpoint does not get. */
export function withCallSettings(
  model: LanguageModelV4,
  settings: Partial<LanguageModelV4CallOptions>,
  onOmitted: OnOmitted,
): LanguageModelV4 {
  const complete = (options: LanguageModelV4CallOptions): LanguageModelV4CallOptions => ({
    ...options,
    ...settings,
    providerOptions: { ...options.providerOptions, ...settings.providerOptions },
  });
  return {
    ...model,
    doGenerate: (options) => listeners.run(onOmitted, () => model.doGenerate(complete(options))),
    doStream: (options) => listeners.run(onOmitted, () => model.doStream(complete(options))),
  };
}

/** Tells whoever listens to the call that is being made. */
export function reportOmitted(names: readonly string[]): void {
  if (names.length > 0) listeners.getStore()?.(names);
}
