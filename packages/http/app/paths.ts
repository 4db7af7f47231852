/** By hand: `/\/+$/` goes over every run of slashes in the path, and this runs before anything is checked. */
export function withoutLastSlashes(path: string): string {
  let end = path.length;
  while (path[end - 1] === '/') end -= 1;
  return path.slice(0, end);
}
