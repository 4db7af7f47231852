/** Whether the client unpacks gzip: named, or covered by `*`, and not given the weight 0. */
export function takesGzip(acceptEncoding: string | undefined): boolean {
  const weights = new Map((acceptEncoding ?? '').split(',').map(toWeight));
  return (weights.get('gzip') ?? weights.get('*') ?? 0) > 0;
}

function toWeight(entry: string): [name: string, weight: number] {
  const [name = '', ...parameters] = entry.split(';').map((part) => part.trim().toLowerCase());
  const quality = parameters.find((parameter) => parameter.startsWith('q='));
  return [name, quality === undefined ? 1 : Number(quality.slice(2))];
}

/** Whether the client's copy is the current one. */
export function isFresh(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const tags = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes('*') || tags.includes(etag);
}
