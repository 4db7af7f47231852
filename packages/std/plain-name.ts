const longestName = 150;

/** The last part of a name, without what a header, a page or a terminal could take for something else. */
export function plainName(name: string): string {
  const last = name.split(/[\\/]/).at(-1) ?? '';
  // Cut first: a cut may leave half of a character, which then goes too.
  const plain = last.slice(-longestName).replace(/[\p{C}"<>|:*?]/gu, '');
  return plain.trim() || 'file';
}
