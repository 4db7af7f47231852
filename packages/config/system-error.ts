/** The system's code of a failure (`ENOENT` and the like), if it has one. */
export function systemCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}
