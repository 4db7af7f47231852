/** A pattern for LIKE with the escape sign `\\` that finds the words anywhere. */
export function containing(words: string): string {
  return `%${words.replace(/[\\%_]/g, '\\$&')}%`;
}
