import type { Environment } from '@trunkline/secrets';

type Flag = `--${string}`;

/** What came of reading a text as an option's value. */
export type Reading<Value> = { readonly value: Value } | { readonly expected: string };

/** One setting of a program: where it is read from, what it may be, and how help describes it. */
export type Option<Value> = {
  /** Variables that set it; the first that is not blank wins. */
  readonly env: readonly string[];
  readonly flag: Flag | undefined;
  /** A toggle's flag stands alone, `--no-` before its name turns it off. */
  readonly toggle: boolean;
  readonly secret: boolean;
  /** What of a secret value must not be shown; all of its texts when not given. */
  readonly hidden?: ((value: unknown) => readonly string[]) | undefined;
  /** Its value is an address, which `trunkline doctor` tries. */
  readonly isAddress: boolean;
  readonly doc: string;
  /** Options under one heading stand together in help and reference. */
  readonly heading: string | undefined;
  readonly default: Value;
  /** The default as one would write it in the environment. */
  readonly defaultText: string | undefined;
  /** Says what happens without a value where there is no fixed default. */
  readonly defaultDoc: string | undefined;
  /** Stands for the value in help, as in `--port NUMBER`. */
  readonly placeholder: string;
  /** What a value must be, as it ends the sentence "expected ...". */
  readonly expected: string;
  readonly read: (text: string) => Reading<Value>;
};

/** What every maker of options takes. */
export type Settings<Default> = {
  env?: string | readonly string[];
  flag?: Flag;
  doc: string;
  default?: Default;
  /** Told instead of a default: `the value of LLM_MODEL`. */
  defaultDoc?: string;
  /** Never shown in errors, logs, help or reference. */
  secret?: boolean;
};

/** What one kind of option adds: how a text becomes a value, and how help describes it. */
export type Kind<Value> = {
  expected: string;
  placeholder: string;
  toggle?: boolean;
  isAddress?: boolean;
  hidden?: ((value: Value) => readonly string[]) | undefined;
  read: (text: string) => Reading<Value>;
  /** The text that `read` turns into this value. */
  write: (value: Value) => string;
};

/** Makes an option of a kind. Without a default its value may be undefined. */
export function makeOption<Value, Default extends Value | undefined>(
  settings: Settings<Default>,
  kind: Kind<Value>,
): Option<Value | Default> {
  const { env = [], flag, doc, defaultDoc, secret = false } = settings;
  const fallback = settings.default as Default;
  return {
    env: typeof env === 'string' ? [env] : env,
    flag,
    toggle: kind.toggle ?? false,
    isAddress: kind.isAddress ?? false,
    secret,
    hidden: kind.hidden && ((value) => kind.hidden?.(value as Value) ?? []),
    doc,
    heading: undefined,
    default: fallback,
    defaultText: fallback === undefined ? undefined : kind.write(fallback as NonNullable<Default>),
    defaultDoc,
    placeholder: kind.placeholder,
    expected: kind.expected,
    read: kind.read,
  };
}

export type OptionSet = Readonly<Record<string, Option<unknown>>>;

/** The one list of a service's settings: typed options, help, `.env.example` and the reference page come from it. */
export type OptionTable<Options extends OptionSet = OptionSet> = {
  readonly service: string;
  readonly title: string;
  readonly options: Options;
  /** Of a command: what it shares with one service alone stands with that service. */
  readonly isCommand?: boolean;
  /** Fails with a ConfigError for values with which the service refuses to start. */
  check?(values: object, context: StartContext): Promise<void>;
};

/** What a service finds at its start besides its options. */
export interface StartContext {
  env: Environment;
  /** The services that start in the same process. */
  services: readonly string[];
}

/** The values that reading a table yields. */
export type OptionsOf<Table extends OptionTable> = {
  readonly [Key in keyof Table['options']]: Table['options'][Key] extends Option<infer Value> ? Value : never;
};

export function defineOptions<const Options extends OptionSet>(
  service: string,
  title: string,
  options: Options,
  check?: (values: OptionsOf<OptionTable<Options>>, context: StartContext) => Promise<void>,
): OptionTable<Options> {
  refuseNameless(options);
  refuseTwice(Object.values(options).map((option) => option.env[0]));
  refuseTwice(Object.values(options).flatMap(flagsOf));
  return { service, title, options, ...(check && { check: check as NonNullable<OptionTable['check']> }) };
}

/** Puts a heading over some options: `{ ...group('Network', { port, host }) }`. */
export function group<Options extends OptionSet>(heading: string, options: Options): Options {
  const entries = Object.entries(options).map(([key, option]) => [key, { ...option, heading }]);
  return Object.fromEntries(entries);
}

/** Every spelling of an option's flag: a toggle has two. */
export function flagsOf(option: Option<unknown>): string[] {
  if (option.flag === undefined) return [];
  return option.toggle ? [option.flag, `--no-${option.flag.slice(2)}`] : [option.flag];
}

function refuseNameless(options: OptionSet): void {
  for (const [key, { env, flag }] of Object.entries(options)) {
    if (env.length === 0 && flag === undefined)
      throw new TypeError(`The option ${key} has neither env nor flag.`);
  }
}

function refuseTwice(names: readonly (string | undefined)[]): void {
  const seen = new Set<string>();
  for (const name of names) {
    if (name !== undefined && seen.has(name))
      throw new TypeError(`Two options of one table are called ${name}.`);
    if (name !== undefined) seen.add(name);
  }
}

/** The values that must not be seen: those of secret options, and passwords inside addresses. For the logger. */
export function secretValues<Table extends OptionTable>(table: Table, options: OptionsOf<Table>): string[] {
  const found = new Set<string>();
  for (const [key, option] of Object.entries(table.options)) {
    const value = (options as Readonly<Record<string, unknown>>)[key];
    const texts = option.hidden && value != null ? option.hidden(value) : textsIn(value);
    // A default stands in the reference for all to read.
    const hidden = option.secret
      ? texts.filter((text) => text !== option.defaultText)
      : texts.flatMap(passwordsIn);
    for (const text of hidden) found.add(text);
  }
  return [...found];
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return value === '' ? [] : [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}

// As written in the address, and as it is meant.
function passwordsIn(text: string): string[] {
  const password = URL.canParse(text) ? new URL(text).password : '';
  return password === '' ? [] : [password, decodePercent(password)];
}

/** A part of an address as it is meant. */
export function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A lone percent sign: the text is meant as it stands.
    return text;
  }
}
