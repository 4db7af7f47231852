import { backup, DatabaseSync } from 'node:sqlite';

/** All of it in one step: a copy in several begins anew whenever somebody writes meanwhile. */
const pagesAtOnce = 0x7fffffff;

/** Copies a database into a new file, whole and at one moment, while others may write to it. */
export async function copyDatabase(from: string, to: string): Promise<void> {
  const source = new DatabaseSync(from);
  try {
    await backup(source, to, { rate: pagesAtOnce });
  } finally {
    source.close();
  }
}
