import type { Option } from './option.ts';

export type OptionSet = Readonly<Record<string, Option<unknown>>>;

/** The one list of a service's settings: typed options, help, `.env.example` and the reference page come from it. */
export type OptionTable<Options extends OptionSet = OptionSet> = {
  readonly service: string;
  readonly title: string;
  readonly options: Options;
};

/** The values that reading a table yields. */
export type OptionsOf<Table extends OptionTable> = {
  readonly [Key in keyof Table['options']]: Table['options'][Key] extends Option<infer Value> ? Value : never;
};

export function defineOptions<const Options extends OptionSet>(
  service: string,
  title: string,
  options: Options,
): OptionTable<Options> {
  refuseNameless(options);
  refuseTwice(Object.values(options).map((option) => option.env[0]));
  refuseTwice(Object.values(options).flatMap(flagsOf));
  return { service, title, options };
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
