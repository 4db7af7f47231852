/** Variables by name, as in `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** The value of one variable, without surrounding blanks; a blank one counts as unset. */
export function readVariable(name: string, env: Environment = process.env): string | undefined {
  return Object.hasOwn(env, name) ? env[name]?.trim() || undefined : undefined;
}

/** Variables whose names are built from data: `/^PEER_(.+)_URL$/` gives each value under what the group captured. */
export function readVariables(pattern: RegExp, env: Environment = process.env): Map<string, string> {
  const found = new Map<string, string>();
  for (const name of Object.keys(env).sort()) {
    const captured = matchOf(pattern, name)?.[1];
    const value = readVariable(name, env);
    if (captured !== undefined && value !== undefined) found.set(captured, value);
  }
  return found;
}

// A global or sticky pattern would remember its place from the name before.
function matchOf(pattern: RegExp, name: string): RegExpExecArray | null {
  return new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, '')).exec(name);
}
