import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { startSearchServer, temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { clientOf, corpus } from './fixtures/lab.ts';
import { startResearch } from './fixtures/service.ts';

it('deletes a job with the pages that were read for it alone', async () => {
  const home = temporaryDirectory();
  const search = await startSearchServer({ pages: corpus });
  const env = { SEARXNG_URL: search.searxngUrl, ENCYCLOPEDIA_URL: search.encyclopediaUrl };
  const service = await startResearch(home.path, env);
  onTestFinished(async () => {
    await service.stop();
    await search.stop();
    home.remove();
  });
  const client = clientOf(service.url);
  const run = async () => {
    const id = await client.startJob({ query: 'tidal power' });
    await client.events(id);
    return id;
  };
  const remove = (id: string) => fetch(`${service.url}/api/research/${id}`, { method: 'DELETE' });
  const rowsOf = (table: string) => {
    const database = new DatabaseSync(join(home.path, 'research', 'research.db'), { readOnly: true });
    onTestFinished(() => database.close());
    return database.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.count;
  };
  const [first, second] = [await run(), await run()];
  const pages = rowsOf('documents');
  expect(pages).toBeGreaterThan(2);
  expect((await remove(first)).status).toBe(204);
  expect([rowsOf('jobs'), rowsOf('documents')]).toEqual([1, pages]);
  expect((await client.status(second)) as object).toMatchObject({ status: 'complete' });
  expect((await remove(second)).status).toBe(204);
  const tables = ['jobs', 'sources', 'claims', 'drafts', 'research_events', 'documents', 'document_parts'];
  expect(tables.map((table) => [table, rowsOf(table)])).toEqual(tables.map((table) => [table, 0]));
});
