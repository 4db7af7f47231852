import type { Service } from '@trunkline/service';
import { docxOf, pdfOf, temporaryDirectory } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clientOf } from './fixtures/lab.ts';
import { startResearch } from './fixtures/service.ts';

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
    const listed = (await client.json('/api/files')) as unknown as { files: { id: string; name: string }[] };
    expect(listed.files.some((file) => file.id === id)).toBe(false);
    expect(listed.files.some(({ name }) => name === 'notes.md')).toBe(true);
  });
});
