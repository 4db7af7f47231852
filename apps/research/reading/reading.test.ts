import { createGuardedFetch } from '@trunkline/http';
import { openDatabase } from '@trunkline/storage';
import { docxOf, pdfOf } from '@trunkline/testing';
import { afterAll, describe, expect, it } from 'vitest';
import { SearchAggregator } from '../sources/search-aggregator.ts';
import { DocumentStore } from '../store/documents.ts';
import { migrations } from '../store/schema.ts';
import { extract } from './extract.ts';
import { ExtractionPool } from './extraction-pool.ts';
import { HostQueue, Reader } from './reader.ts';

const pool = new ExtractionPool({ threads: 1 });
afterAll(() => pool.stop());
const raw = (text: string, type = 'text/html') => ({ bytes: Buffer.from(text), type, text, name: 'page' });
const long = 'Harbour seals rest on sandbanks at low tide and hunt for flatfish when the water comes back.';

describe('the reader', () => {
  it.each(['/api/files/7', 'http://[garbled'])(
    'says that %s cannot be read, and fails nothing else',
    async (url) => {
      const database = openDatabase(':memory:', { migrations });
      const reader = new Reader({
        fetch: createGuardedFetch({ timeoutMs: 1000 }),
        pool,
        hosts: new HostQueue({ perHost: 1, pauseMs: 0, total: 1 }),
        aggregator: new SearchAggregator({ sources: [] }),
        documents: new DocumentStore(database),
      });
      const result = { url, title: 'Gone', snippet: '', source: 'files', documentId: 7 };
      expect(await reader.read(result, 'anonymous', AbortSignal.timeout(5000))).toEqual({
        problem: `${url} is not there to be read.`,
      });
      database.close();
    },
  );
});

describe('extraction', () => {
  it('takes the main content as Markdown, without menus, links and reference marks', async () => {
    const html = `<html><head><title> Seals </title><meta property="article:published_time" content="2024-03-01"></head><body><nav>Menu</nav>
      <article><h2>Rest</h2><p>${long} See <a href="/x">more</a><sup class="reference">[1]</sup>.</p><ul><li>one</li></ul><script>bad()</script></article></body></html>`;
    const { title, text, published } = await extract(raw(html));
    expect(title).toBe('Seals');
    expect(text).toContain('## Rest');
    expect(text).toContain('See more.');
    expect(text).not.toMatch(/Menu|bad|\/x|\[1\]/);
    expect(published).toBe('2024-03-01T00:00:00.000Z');
  });

  it('finds the article of a page that marks none', async () => {
    const html = `<html><body><div class="menu"><a href="/a">A</a> <a href="/b">B</a></div><div class="post">${`<p>${long}</p>`.repeat(6)}</div></body></html>`;
    expect((await extract(raw(html))).text).toContain('Harbour seals');
  });

  it('reads PDF, Word and plain text', async () => {
    const pdf = await extract({
      bytes: pdfOf('First page here.', 'Second page here.'),
      type: 'application/pdf',
      name: 'a.pdf',
    });
    expect(pdf.text).toBe('First page here.\n\nSecond page here.');
    const word = await extract({
      bytes: docxOf('A letter.'),
      type: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
      name: 'b.docx',
    });
    expect(word.text).toBe('A letter.');
    expect((await extract(raw('# Title\n\nBody.', 'text/markdown'))).title).toBe('Title');
  });

  it.each([
    ['image/png', 'x', 'not text'],
    ['text/html', '<body></body>', 'without text'],
    ['application/pdf', '%PDF-1.7 nothing', 'cannot be read'],
  ])('names what is wrong with %s', async (type, text, words) => {
    await expect(extract({ bytes: Buffer.from(text), type, name: 'x' })).rejects.toThrow(words);
  });
});

describe('the extraction threads', () => {
  it('leave the event loop free while they work', async () => {
    const heavy = `<body>${`<div><p>${long}</p></div>`.repeat(4000)}</body>`;
    let ticks = 0;
    const timer = setInterval(() => (ticks += 1), 1);
    await pool.extract(raw(heavy));
    clearInterval(timer);
    expect(ticks).toBeGreaterThan(5);
  });

  it('may be started before there is work, and end without any', async () => {
    const warmed = new ExtractionPool({ threads: 1 });
    warmed.warm();
    const page = raw('Words that a waiting thread reads.', 'text/plain');
    expect((await warmed.extract(page)).text).toContain('a waiting thread');
    await warmed.stop();
    const idle = new ExtractionPool({ threads: 2 });
    idle.warm();
    await idle.stop();
    idle.warm();
    await expect(idle.extract(page)).rejects.toThrow('service stops');
  });

  it('give failures in words and go on', async () => {
    await expect(pool.extract(raw('x', 'image/png'))).rejects.toThrow('not text');
    expect((await pool.extract(raw('Words.', 'text/plain'))).text).toBe('Words.');
  });

  it('end a text that takes too long, and serve the next', async () => {
    const hasty = new ExtractionPool({ threads: 1, timeoutMs: 40 });
    await expect(
      hasty.extract(raw(`<body>${`<div><p>${long}</p></div>`.repeat(30_000)}</body>`)),
    ).rejects.toThrow('takes longer than 40 ms');
    await hasty.stop();
    await expect(hasty.extract(raw('x'))).rejects.toThrow('stops');
  });

  it('refuse more than their queue holds', async () => {
    const small = new ExtractionPool({ threads: 1, queue: 1 });
    const works = [1, 2, 3].map(() => small.extract(raw('Words.', 'text/plain')));
    const results = await Promise.allSettled(works);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
    await small.stop();
  });
});

describe('the host queue', () => {
  it('keeps requests to one host few and apart, and those to others free', async () => {
    const waits: number[] = [];
    const wait = async (milliseconds: number) => waits.push(milliseconds);
    const queue = new HostQueue({ perHost: 2, pauseMs: 60_000, total: 3, wait });
    const running = new Map<string, number>();
    const peaks = new Map<string, number>();
    const { signal } = new AbortController();
    const visit = (host: string) =>
      queue.run(host, signal, async () => {
        running.set(host, (running.get(host) ?? 0) + 1);
        peaks.set(host, Math.max(peaks.get(host) ?? 0, running.get(host) ?? 0));
        await new Promise((resolve) => setImmediate(resolve));
        running.set(host, (running.get(host) ?? 0) - 1);
      });
    await Promise.all(['a', 'a', 'a', 'a', 'b', 'c'].map(visit));
    expect(Object.fromEntries(peaks)).toEqual({ a: 2, b: 1, c: 1 });
    expect(waits.map((milliseconds) => Math.round(milliseconds / 60_000))).toEqual([1, 2, 3]);
  });

  it('lets go of what waits when it is called off', async () => {
    const queue = new HostQueue({ perHost: 1, pauseMs: 0, total: 1 });
    const stop = new AbortController();
    const { promise, resolve } = Promise.withResolvers<void>();
    const first = queue.run('a', new AbortController().signal, () => promise);
    const second = queue.run('a', stop.signal, async () => 'never');
    stop.abort(new Error('enough'));
    await expect(second).rejects.toThrow('enough');
    resolve();
    await first;
    expect(await queue.run('a', new AbortController().signal, async () => 'next')).toBe('next');
  });
});
