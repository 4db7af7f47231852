/** The parts of a path below the page directory; undefined when it tries to leave it or names a hidden file. */
export function safeSegments(path: string): string[] | undefined {
  const decoded = decode(path);
  if (decoded === undefined || /[\\\0]/.test(decoded)) return undefined;
  const segments = decoded.split('/').filter((segment) => segment !== '');
  return segments.some((segment) => segment.startsWith('.')) ? undefined : segments;
}

function decode(path: string): string | undefined {
  try {
    return decodeURIComponent(path);
  } catch (error) {
    if (error instanceof URIError) return undefined;
    throw error;
  }
}
