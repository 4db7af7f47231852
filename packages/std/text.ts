const longestName = 150;

/** The last part of a name, without what a header, a page or a terminal could take for something else. */
export function plainName(name: string): string {
  const last = name.split(/[\\/]/).at(-1) ?? '';
  // Cut first: a cut may leave half of a character, which then goes too.
  const plain = last.slice(-longestName).replace(/[\p{C}"<>|:*?]/gu, '');
  return plain.trim() || 'file';
}

/** JSON with the names of each object in order: two texts differ only where the values do. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_name, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([one], [other]) => (one < other ? -1 : 1)))
      : inner,
  );
}
