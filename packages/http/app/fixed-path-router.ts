import type { Result, Router } from 'hono/router';

/** Remembers what another router found for each path without parameters: the same path always leads to the same handlers. */
export class FixedPathRouter<T> implements Router<T> {
  readonly name = 'FixedPathRouter';
  readonly #router: Router<T>;
  /** By path, then by method; only paths that were added, so their number has a bound. */
  readonly #known = new Map<string, Map<string, Result<T>>>();

  constructor(router: Router<T>) {
    this.#router = router;
  }

  add(method: string, path: string, handler: T): void {
    this.#router.add(method, path, handler);
    if (!/[:*]/.test(path)) this.#known.set(path, new Map());
  }

  match(method: string, path: string): Result<T> {
    const results = this.#known.get(path);
    const known = results?.get(method);
    if (known !== undefined) return known;
    const found = this.#router.match(method, path);
    results?.set(method, found);
    return found;
  }
}
