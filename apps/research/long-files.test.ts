import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openDatabase } from '@trunkline/storage';
import { temporaryDirectory } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clientOf, type Lab, startLab } from './fixtures/lab.ts';
import { startResearch } from './fixtures/service.ts';
import { migrations } from './store/schema.ts';

const FACT = 'The harbour of Merrow was dredged in 1911 to a depth of 14 metres.';
const NAMES = ['Depth of the harbour of Merrow', 'Dredging of the harbour', 'Harbour of Merrow in 1911'];

let lab: Lab;

beforeAll(async () => {
  const plan = NAMES.map((name) => ({ name, queries: [name] }));
  lab = await startLab(undefined, (asked, request) => {
    if (asked === 'scope') return JSON.stringify({ dimensions: plan });
    const cited = new RegExp(`^\\[(\\d+)\\].*${FACT}`, 'm').exec(String(request.messages[1]?.content))?.[1];
    return asked === 'section' ? `${FACT} [${cited}]` : undefined;
  });
});
afterAll(() => lab.stop());

/** Sentences about other things, no two alike. */
function chronicle(sentences: number, name = 'parish'): string[] {
  return Array.from(
    { length: sentences },
    (_, number) => `In entry ${number} the clerk of the ${name} notes rain, prices of wool and a wedding. `,
  );
}

async function upload(url: string, name: string, content: string): Promise<{ id: string }> {
  const form = new FormData();
  form.append('file', new File([content], name));
  const response = await fetch(`${url}/api/files`, { method: 'POST', body: form });
  expect(response.status).toBe(201);
  const { files } = (await response.json()) as { files: [{ id: string }] };
  return files[0];
}

async function textOf(url: string, id: string): Promise<string> {
  const response = await fetch(`${url}/api/files/${id}`);
  return ((await response.json()) as { text: string }).text;
}

const names = async (url: string) => {
  const { files } = (await clientOf(url).json('/api/files')) as unknown as { files: { name: string }[] };
  return files.map(({ name }) => name);
};

describe('a long file', () => {
  it('is cited from any of its pages, and the citation leads to the place', async () => {
    const sentences = chronicle(20_000);
    sentences.splice(15_000, 0, `${FACT} `);
    const { id } = await upload(lab.url, 'chronicle.txt', sentences.join(''));
    const job = await lab.client.startJob({ query: 'harbour of Merrow', sources: ['files'] });
    await lab.client.events(job);
    expect(await lab.client.status(job)).toMatchObject({
      status: 'complete',
      citations: { total: 1, supported: 1 },
    });
    const { claims } = (await lab.client.json(`/api/research/deep/${job}/evidence`)) as unknown as {
      claims: [{ passage: string; passageStart: number; passageEnd: number }];
    };
    const [{ passage, passageStart, passageEnd }] = claims;
    expect(passage).toContain(FACT);
    expect((await textOf(lab.url, id)).slice(passageStart, passageEnd)).toBe(passage);
  });

  it('answers follow-up questions from any of its pages', async () => {
    const { jobs } = (await lab.client.json('/api/research')) as unknown as {
      jobs: [{ researchId: string }];
    };
    const answer = await lab.client.post(`/api/research/deep/${jobs[0].researchId}/questions`, {
      question: 'How deep was the harbour of Merrow dredged in 1911?',
    });
    expect(await answer.json()).toMatchObject({ claims: [{ supported: true, sentence: FACT }] });
  });

  it('is stored in pieces, between which others are answered, and seen when it is whole', async () => {
    const database = new DatabaseSync(join(lab.home, 'research/research.db'), { readOnly: true });
    const isHalfStored = () =>
      database.prepare('SELECT 1 FROM documents WHERE complete = 0').get() !== undefined;
    let [isOver, answers, halves] = [false, 0, 0];
    const storing = upload(lab.url, 'harbours.txt', chronicle(80_000, 'harbour').join('')).finally(() => {
      isOver = true;
    });
    while (!isOver) {
      const seen = await names(lab.url);
      answers += 1;
      if (!isHalfStored()) continue;
      halves += 1;
      expect(seen).not.toContain('harbours.txt');
    }
    await storing;
    database.close();
    expect(await names(lab.url)).toContain('harbours.txt');
    expect([answers > 0, halves > 0]).toEqual([true, true]);
  });

  it('is one file when it comes twice at once', async () => {
    const text = chronicle(6000, 'mill').join('');
    const [first, second] = await Promise.all([
      upload(lab.url, 'mill.txt', text),
      upload(lab.url, 'mill.txt', text),
    ]);
    expect(first).toEqual(second);
  });

  it('leaves nothing behind when it is removed', async () => {
    const { id } = await upload(lab.url, 'mayors.txt', chronicle(6000, 'mayoralty').join(''));
    expect((await fetch(`${lab.url}/api/files/${id}`, { method: 'DELETE' })).status).toBe(204);
    const found = await lab.client.chat({ messages: [{ role: 'user', content: 'mayoralty' }] });
    expect(found).not.toContain('mayors.txt');
    expect((await upload(lab.url, 'mayors.txt', chronicle(6000, 'mayoralty').join(''))).id).not.toBe(id);
  });
});

describe('the library after a start', () => {
  it('has no file that was half stored when the process ended, and takes it again', async () => {
    const home = temporaryDirectory();
    const text = chronicle(3000).join('');
    let service = await startResearch(home.path);
    await upload(service.url, 'half.txt', text);
    await service.stop();
    const database = new DatabaseSync(join(home.path, 'research/research.db'));
    database.exec('UPDATE documents SET complete = 0; DELETE FROM document_parts WHERE id % 1048576 > 5');
    database.close();
    service = await startResearch(home.path);
    expect(await names(service.url)).toEqual([]);
    const { id } = await upload(service.url, 'half.txt', text);
    expect(await textOf(service.url, id)).toBe(text.trim());
    await service.stop();
    home.remove();
  });

  it('has the files of an earlier release, found and read as before', async () => {
    const home = temporaryDirectory();
    const text = `${chronicle(3000).join('')}${FACT} 🦭 ${chronicle(10, 'mill').join('')}`;
    const before = openDatabase(join(home.path, 'research/research.db'), {
      migrations: migrations.slice(0, 6),
    });
    before
      .prepare(
        `INSERT INTO documents (id, kind, url, title, text, type, hash, bytes, published, added_at)
         VALUES (7, 'file', 'old.txt', 'Old chronicle', ?, 'text/plain', 'x', ?, NULL, 1)`,
      )
      .run(text, text.length);
    before.close();
    const service = await startResearch(home.path);
    expect(await textOf(service.url, '7')).toBe(text);
    const found = await clientOf(service.url).chat({
      messages: [{ role: 'user', content: 'harbour of Merrow' }],
    });
    expect(found).toContain('Old chronicle');
    expect(found).toContain('dredged in 1911');
    await service.stop();
    home.remove();
  });
});
