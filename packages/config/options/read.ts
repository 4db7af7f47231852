import { ConfigError } from '../config-error.ts';
import { type Environment, readVariable } from '../environment/environment.ts';
import { createTextHider } from '../secrets/hide-text.ts';
import { type Given, readArguments } from './arguments.ts';
import type { Option } from './option.ts';
import type { OptionsOf, OptionTable } from './table.ts';

const LONGEST_SHOWN = 80;

/** Where the values of options come from: flags in `argv` beat variables in `env`. */
export type OptionSources = { env?: Environment; argv?: readonly string[] };

/** Reads every option of a table, or fails once with all that is wrong. */
export function readOptions<Table extends OptionTable>(
  table: Table,
  { env = process.env, argv = [] }: OptionSources = {},
): OptionsOf<Table> {
  const { given, problems: misused } = readArguments(table, argv);
  const hide = createTextHider(secretTexts(table, env, given));
  const problems = misused.map(({ before, subject, after }) => before + hide(subject) + after);
  const values: Record<string, unknown> = {};
  for (const [key, option] of Object.entries(table.options)) {
    const source = given.get(key) ?? fromEnvironment(option, env);
    const reading = source === undefined ? { value: option.default } : option.read(source.text);
    if ('value' in reading) values[key] = reading.value;
    else if (source !== undefined) problems.push(problemWith(option, source, reading.expected, hide));
  }
  if (problems.length > 0) throw new ConfigError(`The settings of ${table.title} cannot be used:`, problems);
  return Object.freeze(values) as OptionsOf<Table>;
}

function fromEnvironment(option: Option<unknown>, env: Environment): Given | undefined {
  for (const name of option.env) {
    const text = readVariable(name, env);
    if (text !== undefined) return { name, text };
  }
  return undefined;
}

function problemWith(
  option: Option<unknown>,
  { name, text }: Given,
  expected: string,
  hide: (text: string) => string,
) {
  const shown = option.secret ? '(a secret, not shown)' : JSON.stringify(shorten(hide(text)));
  return `${name} is ${shown}; expected ${option.secret ? option.expected : hide(expected)}`;
}

function shorten(text: string): string {
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}...` : text;
}

// A secret that was given to the wrong variable must not show there either.
function secretTexts(table: OptionTable, env: Environment, given: ReadonlyMap<string, Given>): string[] {
  return Object.entries(table.options).flatMap(([key, option]) => {
    if (!option.secret) return [];
    const texts = [given.get(key)?.text, ...option.env.map((name) => readVariable(name, env))];
    return texts.filter((text) => text !== undefined);
  });
}
