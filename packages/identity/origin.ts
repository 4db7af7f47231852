/** Where a text came from that the operator does not vouch for. */
export interface Origin {
  /** What brought it: the name of a tool, or `message` for the words of somebody unknown. */
  readonly kind: string;
  /** An address, a sender, an agent; empty where there is nothing to name. */
  readonly source: string;
}

const MAX_ORIGINS = 8;
const MAX_KIND = 64;
const MAX_SOURCE = 120;

/** All of them, each once. The first ones are named; that there is one is what counts. */
export function joinOrigins(...lists: readonly (readonly Origin[] | undefined)[]): readonly Origin[] {
  const joined = new Map<string, Origin>();
  for (const { kind, source } of lists.flatMap((list) => list ?? [])) {
    const origin = { kind: kind.slice(0, MAX_KIND), source: source.slice(0, MAX_SOURCE) };
    if (joined.size < MAX_ORIGINS) joined.set(`${origin.kind} ${origin.source}`, origin);
  }
  return [...joined.values()];
}

/** "fetch_url https://example.com/, message mail:eve@example.com" */
export function describeOrigins(origins: readonly Origin[]): string {
  return origins.map(({ kind, source }) => (source === '' ? kind : `${kind} ${source}`)).join(', ');
}

/** What `JSON.parse` gave of a list of origins; undefined if it is none. */
export function parseOrigins(value: unknown): readonly Origin[] | undefined {
  if (!Array.isArray(value)) return undefined;
  const isValid = value.every(
    (origin) => typeof origin?.kind === 'string' && typeof origin?.source === 'string',
  );
  return isValid ? joinOrigins(value) : undefined;
}
