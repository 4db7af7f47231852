/** What a tool gives back when it fails: words that begin with `Error:`. */
export function failure(error: unknown): string {
  const words = error instanceof Error ? error.message : String(error);
  return `Error: ${words === '' ? 'it failed without saying why' : words}`;
}
