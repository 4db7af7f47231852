/** Parts flags from words, for commands whose every flag takes a value. */
export function separateFlags(argv: readonly string[]): { flags: string[]; words: string[] } {
  const [flags, words]: [string[], string[]] = [[], []];
  for (let at = 0; at < argv.length; at += 1) {
    const token = argv[at] ?? '';
    if (!token.startsWith('--')) words.push(token);
    else if (token.includes('=')) flags.push(token);
    else flags.push(token, ...argv.slice(at + 1, ++at + 1));
  }
  return { flags, words };
}
