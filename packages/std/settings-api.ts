/** Where the value of an option comes from; a source wins over all that stand after it. */
export type SettingSource = 'flag' | 'environment' | '.env' | 'settings.yaml' | 'default';

/** One option of a service. */
export interface SettingView {
  /** The variable that sets it, in the environment, `.env` and settings.yaml. */
  variable: string;
  doc: string;
  /** Options under one heading belong together. */
  heading: string | null;
  /** What a value must be, as it ends the sentence "expected ...". */
  expected: string;
  /** The words of an option that takes one of some. */
  choices: string[] | null;
  isToggle: boolean;
  /** The default as one would write it; null where there is none. */
  default: string | null;
  /** Says what happens without a value where there is no fixed default. */
  defaultDoc: string | null;
  secret: boolean;
  /** As written where `source` says; null where nothing is set and there is no default. A secret is `set` or null. */
  value: string | null;
  source: SettingSource;
  /** Why settings.yaml cannot set it: another source wins, or it is needed to find the file. Null where it can. */
  fixed: string | null;
}

/** `GET /operator/settings`, and the answer of `PATCH`. */
export interface SettingsView {
  service: string;
  /** The path of settings.yaml. */
  file: string;
  settings: SettingView[];
  /** Why the newest version of the file does not count; null when it does. */
  problem: string | null;
}

/** `PATCH /operator/settings`: values by variable; null removes one. Variables of other services of the process are taken too. */
export type SettingsChange = Record<string, string | null>;
