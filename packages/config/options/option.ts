type Flag = `--${string}`;

/** What came of reading a text as an option's value. */
export type Reading<Value> = { readonly value: Value } | { readonly expected: string };

/** One setting of a program: where it is read from, what it may be, and what people are told about it. */
export type Option<Value> = {
  /** Variables that set it; the first that is not blank wins. */
  readonly env: readonly string[];
  readonly flag: Flag | undefined;
  /** A toggle's flag stands alone, `--no-` before its name turns it off. */
  readonly toggle: boolean;
  readonly secret: boolean;
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

/** What one kind of option adds: how a text becomes a value, and how that is told. */
export type Kind<Value> = {
  expected: string;
  placeholder: string;
  toggle?: boolean;
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
    secret,
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
