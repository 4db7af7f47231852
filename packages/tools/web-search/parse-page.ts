import { ParserPool } from '@trunkline/documents';
import type { PageParsers, PageTask } from './page-worker.ts';

/** Shared by all services of the process, so that no number of hostile pages takes more than its threads. */
const pool = new ParserPool<PageTask, unknown>({ script: new URL('./page-worker.ts', import.meta.url) });

/** Parses a fetched page outside the service's own thread; rejects with a ParserError where that fails. */
export async function parsePage<Kind extends keyof PageParsers>(
  kind: Kind,
  input: Parameters<PageParsers[Kind]>[0],
  signal?: AbortSignal,
): Promise<Awaited<ReturnType<PageParsers[Kind]>>> {
  const result = await pool.run({ kind, input } as PageTask, { signal });
  return result as Awaited<ReturnType<PageParsers[Kind]>>;
}
