import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Service } from '@trunkline/service';
import { openDatabase } from '@trunkline/storage';
import { docxOf, pdfOf, temporaryDirectory } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clientOf, type Lab, startLab } from './fixtures/lab.ts';
import { startResearch } from './fixtures/service.ts';
import { migrations } from './store/schema.ts';

describe('files', () => {
  const home = temporaryDirectory();
  let service: Service;
  let client: ReturnType<typeof clientOf>;

  beforeAll(async () => {
    service = await startResearch(home.path, { RESEARCH_UPLOAD_LIMIT_MB: '1' });
    client = clientOf(service.url);
  });
  afterAll(async () => {
    await service.stop();
    home.remove();
  });

  async function upload(name: string, content: string | Uint8Array): Promise<Response> {
    const form = new FormData();
    form.append('file', new File([content as BlobPart], name));
    return await fetch(`${service.url}/api/files`, { method: 'POST', body: form });
  }

  const markdown = `# Beekeeping notes

Honey bees keep their brood at about 35 degrees Celsius. A colony in summer has up to 60,000 workers.
The varroa mite reached Europe in 1977 and weakens colonies. Oxalic acid is used against the varroa mite in winter when there is no brood.`;

  const manyParts = Object.fromEntries(Array.from({ length: 10_000 }, (_, number) => [`${number}`, '']));

  describe('files', () => {
    it.each([
      ['notes.md', markdown, 'Beekeeping notes', 'varroa'],
      ['plain.txt', 'Drones leave the hive in May and die in autumn.', 'plain.txt', 'Drones'],
      [
        'page.html',
        '<title>Queens</title><nav>menu</nav><main><p>A queen bee can live for five years and lays up to 2,000 eggs a day in early summer.</p></main>',
        'Queens',
        'five years',
      ],
      ['utf-16.txt', Buffer.from('\ufeffBienen in Zürich fliegen.', 'utf16le'), 'utf-16.txt', 'in Zürich'],
      [
        'big-endian.md',
        Buffer.from('\ufeff# Bees\n\nBienen in Köln fliegen.', 'utf16le').swap16(),
        'Bees',
        'in Köln',
      ],
      ['latin.txt', Buffer.from('Les abeilles préfèrent le tilleul.', 'latin1'), 'latin.txt', 'préfèrent'],
      [
        'cyrillic.html',
        Buffer.concat([
          Buffer.from('<meta charset="windows-1251"><title>Bees</title><main><p>'),
          Buffer.from([0xcf, 0xf7, 0xe5, 0xeb, 0xfb]),
          Buffer.from(` ${'and other bees of the garden '.repeat(4)}</p></main>`),
        ]),
        'Bees',
        'Пчелы',
      ],
      ['harvest.csv', 'Year,Honey in kg\n2022,"1,200"\n2023,950\n', 'harvest.csv', '1,200'],
      ['report.pdf', pdfOf('Swarms leave the hive in late spring.'), 'report.pdf', 'Swarms leave'],
      ['letter.docx', docxOf('Smoke calms the bees before a hive is opened.'), 'letter.docx', 'Smoke calms'],
      ['hives.csv', 'hive,honey in kg\nlime tree,23.5\n', 'hives.csv', '| lime tree | 23.5 |'],
      [
        'packed.docx',
        docxOf('Wax moths eat old combs.', {
          isDeflated: true,
          more: { 'word/media/hive.png': 'x'.repeat(1e8) },
        }),
        'packed.docx',
        'Wax moths',
      ],
    ])('takes %s and reads its text', async (name, content, title, words) => {
      const response = await upload(name, content);
      expect(response.status).toBe(201);
      const { files } = (await response.json()) as { files: { id: string; url: string }[] };
      expect(files).toMatchObject([
        { name, title, bytes: expect.any(Number), url: `/api/files/${files[0]?.id}` },
      ]);
      expect(await client.json(files[0]?.url ?? '')).toMatchObject({
        name,
        text: expect.stringContaining(words),
      });
    });

    it('knows a file that comes twice', async () => {
      const [first, second] = [
        await upload('twice.txt', 'Same text here.'),
        await upload('twice.txt', 'Same text here.'),
      ];
      expect(await second.json()).toEqual(await first.json());
    });

    it.each([
      ['music.mp3', 'x', 415, '.docx'],
      ['broken.pdf', '%PDF-1.4 broken', 422, 'cannot be read'],
      ['broken.docx', 'no archive', 422, 'Word document'],
      ['broken.epub', 'no archive', 422, 'save it again as .epub'],
      ['bomb.docx', docxOf('bee '.repeat(2e7), { isDeflated: true }), 422, 'more than 64 MB'],
      [
        'liar.docx',
        docxOf('bee '.repeat(2e7), { isDeflated: true, claimedLength: 9 }),
        422,
        'save it as plain text',
      ],
      ['parts.docx', docxOf('Bees.', { more: manyParts }), 422, 'more than 10000 parts'],
      ['empty.txt', '  ', 422, 'empty'],
      ['large.txt', 'x'.repeat(1024 * 1024 + 1), 413, 'larger'],
      ['odd.constructor', 'x', 415, 'no file that can be read'],
    ])('refuses %s in words', async (name, content, status, words) => {
      const response = await upload(name, content);
      expect(response.status).toBe(status);
      expect(await response.json()).toEqual({ error: expect.stringContaining(words) });
    });

    it('refuses a form without a file, and a file that is not there', async () => {
      const form = new FormData();
      form.append('other', 'x');
      expect((await fetch(`${service.url}/api/files`, { method: 'POST', body: form })).status).toBe(400);
      expect((await fetch(`${service.url}/api/files/999999`)).status).toBe(404);
      expect((await fetch(`${service.url}/api/files/x`, { method: 'DELETE' })).status).toBe(404);
    });

    it('are found by the chat with no model and no network', async () => {
      const stream = await client.chat({ messages: [{ role: 'user', content: 'What is the varroa mite?' }] });
      expect(stream).toContain('"toolName":"searchWeb"');
      expect(stream).toContain('Beekeeping notes');
    });

    it('are found at once also where a long one has the words everywhere', async () => {
      const dense = 'Hornbeams near hornbeams shade hornbeams. '.repeat(20_000);
      expect(
        (await upload('hornbeams.txt', `${dense}\nThe oldest hornbeams of Merrow are 300 years old.`)).status,
      ).toBe(201);
      const lines = await client.chat({ messages: [{ role: 'user', content: 'hornbeams merrow' }] });
      expect(lines).toContain('hornbeams.txt');
    });

    it('are researched with no model and no network, extractive and labelled', async () => {
      const id = await client.startJob({ query: 'varroa mite', sources: ['files'] });
      const events = await client.events(id);
      expect(events.at(-1)?.type).toBe('done');
      const snapshot = (await client.status(id)) as {
        status: string;
        report: string;
        citations: { total: number; supported: number };
      };
      expect(snapshot.status).toBe('complete');
      expect(snapshot.report).toContain('Extractive report by the offline demo model');
      expect(snapshot.report).toContain('varroa mite');
      expect(snapshot.report).toMatch(/1\. .*: \/api\/files\/\d+/);
      expect(snapshot.citations.supported).toBe(snapshot.citations.total);
    });

    it('are researched also where figures stand in one line that never ends', async () => {
      const figures = Array.from({ length: 80_000 }, (_, number) => number % 97).join(',');
      await upload(
        'soundings.txt',
        `The soundings of Skerry Bay were made in 1911. All soundings: ${figures}.`,
      );
      const id = await client.startJob({ query: 'soundings of Skerry Bay', sources: ['files'] });
      await client.events(id);
      const { status, report } = await client.status(id);
      expect([status, report]).toEqual(['complete', expect.stringContaining('soundings.txt')]);
      expect(report).toContain('The soundings of Skerry Bay were made in 1911 [1].');
      expect(report).not.toContain('passages below');
    });

    it('never get the id of one that was removed, so that nothing which cited it shows them', async () => {
      const idOf = async (response: Response) =>
        ((await response.json()) as { files: { id: string }[] }).files[0]?.id ?? '';
      const cited = await idOf(await upload('hornets.txt', 'Hornets hunt honey bees in front of the hive.'));
      await fetch(`${service.url}/api/files/${cited}`, { method: 'DELETE' });
      const other = await idOf(await upload('salaries.txt', 'The beekeeper earns 100 a day.'));
      expect(other).not.toBe(cited);
      expect((await fetch(`${service.url}/api/files/${cited}`)).status).toBe(404);
    });

    it('go from the list when they are removed', async () => {
      const { files } = (await (await upload('gone.txt', 'Wasps are no bees at all.')).json()) as {
        files: { id: string }[];
      };
      const id = files[0]?.id ?? '';
      expect((await fetch(`${service.url}/api/files/${id}`, { method: 'DELETE' })).status).toBe(204);
      const listed = (await client.json('/api/files')) as unknown as {
        files: { id: string; name: string }[];
      };
      expect(listed.files.some((file) => file.id === id)).toBe(false);
      expect(listed.files.some(({ name }) => name === 'notes.md')).toBe(true);
    });
  });
});

describe('long files', () => {
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
});
