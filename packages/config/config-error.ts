const MOST_PROBLEMS_SHOWN = 20;

/** All that is wrong with some settings, found in one reading, so that it can be mended in one go. */
export class ConfigError extends Error {
  readonly code = 'CONFIG_INVALID';
  readonly problems: readonly string[];

  constructor(headline: string, problems: readonly string[], options?: ErrorOptions) {
    super([headline, ...linesOf(problems)].join('\n'), options);
    this.name = 'ConfigError';
    this.problems = problems;
  }
}

function linesOf(problems: readonly string[]): string[] {
  const shown = problems.slice(0, MOST_PROBLEMS_SHOWN).map((problem) => `  - ${problem}`);
  const rest = problems.length - shown.length;
  return rest > 0 ? [...shown, `  - and ${rest} more`] : shown;
}
