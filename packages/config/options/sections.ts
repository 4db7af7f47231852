import type { Option } from './option.ts';
import type { OptionTable } from './table.ts';

/** One setting as it is told to people: merged where several services use it. */
export type Row = {
  readonly names: readonly string[];
  readonly flag: string | undefined;
  readonly placeholder: string;
  readonly toggle: boolean;
  readonly expected: string;
  readonly doc: string;
  readonly secret: boolean;
  /** Told to people; may be a sentence. */
  readonly fallback: string | undefined;
  /** Can be written into the environment. */
  readonly defaultText: string | undefined;
};

/** Rows under a heading, which is empty for those that have none. */
export type Group = { readonly heading: string; readonly rows: readonly Row[] };
export type Section = { readonly title: string; readonly groups: readonly Group[] };

type Use = { readonly title: string; readonly option: Option<unknown> };

/** Sorts the options of several services: first those that more than one uses, then each service's own. */
export function sectionsOf(tables: readonly OptionTable[]): Section[] {
  const uses = usesByName(tables);
  const shared = [...uses.values()].filter((found) => found.length > 1);
  const own = tables.map((table) => ({
    title: table.title,
    groups: groupsOf(
      [...uses.values()].filter((found) => found.length === 1 && found[0]?.title === table.title),
    ),
  }));
  return [{ title: 'Shared', groups: groupsOf(shared) }, ...own].filter(({ groups }) => groups.length > 0);
}

function usesByName(tables: readonly OptionTable[]): Map<string, Use[]> {
  const uses = new Map<string, Use[]>();
  for (const { title, service, options } of tables) {
    for (const option of Object.values(options)) {
      const name = option.env[0] ?? `${service} ${option.flag}`;
      uses.set(name, [...(uses.get(name) ?? []), { title, option }]);
    }
  }
  return uses;
}

// Options without a heading come first, so that they do not seem to belong to one.
function groupsOf(uses: readonly Use[][]): Group[] {
  const groups = Map.groupBy(uses, (found) => found[0]?.option.heading ?? '');
  const headings = [...groups.keys()].sort((left, right) => Number(left !== '') - Number(right !== ''));
  return headings.map((heading) => ({ heading, rows: (groups.get(heading) ?? []).map(rowOf) }));
}

function rowOf(uses: readonly Use[]): Row {
  const options = uses.map(({ option }) => option);
  const flagged = options.find(({ flag }) => flag !== undefined);
  return {
    names: [...new Set(options.flatMap(({ env }) => env))],
    flag: flagged?.flag,
    placeholder: flagged?.placeholder ?? '',
    toggle: flagged?.toggle ?? false,
    expected: merged(uses, ({ expected }) => expected) ?? '',
    doc: merged(uses, ({ doc }) => doc) ?? '',
    secret: options.some(({ secret }) => secret),
    fallback: merged(uses, fallbackOf),
    defaultText: agreed(options.map((option) => (option.secret ? undefined : option.defaultText))),
  };
}

function fallbackOf({ secret, defaultText, defaultDoc }: Option<unknown>): string | undefined {
  return defaultDoc ?? (secret ? undefined : defaultText);
}

function agreed(texts: readonly (string | undefined)[]): string | undefined {
  return new Set(texts).size === 1 ? texts[0] : undefined;
}

// Where services say different things, each says its own.
function merged(
  uses: readonly Use[],
  part: (option: Option<unknown>) => string | undefined,
): string | undefined {
  const texts = uses.map(({ option }) => part(option));
  if (new Set(texts).size === 1) return texts[0];
  return uses.flatMap(({ title }, index) => (texts[index] ? `${title}: ${texts[index]}` : [])).join(' / ');
}
