import { ExtractionError, ExtractionPool } from '@trunkline/documents';
import type { Principal } from '@trunkline/identity';
import { ContentStore } from '@trunkline/loop';
import { pdfOf, temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished, vi } from 'vitest';
import { MessageFiles } from './message-files.ts';

const ada: Principal = { kind: 'person', id: 'user:ada', via: [], role: 'member' };
const { signal } = new AbortController();
const warn = vi.fn();

type Offered = (query: Record<string, unknown>, viewer: Principal) => unknown;

/** Switchboards on one bus; each answers what the others ask. */
function openAll(count: number): MessageFiles[] {
  const offered = Array.from({ length: count }, () => new Map<string, Offered>());
  return offered.map((own) => {
    const ask = async (kind: string, query: Record<string, unknown>, viewer: Principal) => {
      const others = offered.filter((each) => each !== own);
      const answers = await Promise.all(others.map((each) => each.get(kind)?.(query, viewer)));
      return answers.filter((answer) => answer !== undefined);
    };
    const offer = (kind: string, read: Offered) => own.set(kind, read);
    return openWith({ offer, ask, silent: () => [] } as never);
  });
}

const alone = (away: string[] = []) =>
  ({ offer: () => undefined, ask: async () => [], silent: () => away }) as never;
const open = () => openWith(alone()).turnFiles(ada);

function openWith(peers: never): MessageFiles {
  const home = temporaryDirectory();
  const files = new MessageFiles({
    directory: home.path,
    maxFileBytes: 2 ** 20,
    maxTotalBytes: 2 ** 22,
    peers,
    takesFiles: () => true,
    logger: { error: () => undefined, warn } as never,
  });
  onTestFinished(async () => {
    await files.close();
    home.remove();
  });
  return files;
}

it('links to a file of another switchboard, and each of them serves the link', async () => {
  const [here, there] = openAll(2) as [MessageFiles, MessageFiles];
  const bytes = Buffer.from('sea '.repeat(200_000));
  const file = await there.put({ name: 'sea.txt', mediaType: 'text/plain', bytes }, ada);
  const eve: Principal = { ...ada, id: 'user:eve' };
  expect(await here.link(file, eve)).toBeUndefined();
  const url = new URL((await here.link(file, ada)) ?? '', 'http://switchboard');
  const id = url.pathname.split('/').at(-1) ?? '';
  const [expires, signature] = ['expires', 'signature'].map((name) => url.searchParams.get(name) ?? '');
  const link = { expires: Number(expires), signature: signature ?? '' };
  for (const node of [here, there]) {
    const found = await node.openLink(id, link);
    expect(found).toMatchObject({ name: 'sea.txt', mediaType: 'text/plain' });
    expect(typeof found === 'object' && 'bytes' in found && bytes.equals(found.bytes)).toBe(true);
    expect(await node.openLink(id, { ...link, expires: link.expires + 60 })).toBe('refused');
    expect(await node.openLink(file.id, link)).toBe('refused');
  }
});

it('gives the turn of an agent what another switchboard stores', async () => {
  const [here, there] = openAll(2) as [MessageFiles, MessageFiles];
  const pdf = await there.put({ name: 'a.pdf', mediaType: '', bytes: pdfOf('High water at nine') }, ada);
  const files = here.turnFiles(ada);
  expect(await files.content(pdf.id, signal)).toMatchObject({ type: 'file', text: 'High water at nine' });
  expect(await files.describe(pdf.id, signal)).toMatch(/^a\.pdf /);
});

it('says that a silent switchboard may have a file, and names it in the log alone', async () => {
  const file = { id: 'x'.repeat(22), name: 'sea.txt', mediaType: 'text/plain', size: 3 };
  const words = 'sea.txt is not stored here. It may be at a switchboard that does not answer now';
  const here = openWith(alone(['west']));
  const { lost } = await here.open({ files: [file] }, ada);
  expect(lost).toEqual([expect.stringContaining(words)]);
  expect(lost[0]).not.toContain('west');
  expect(warn).toHaveBeenCalledWith({ nodes: ['west'], file: file.id }, expect.any(String));
  const [content] = await here.contents({ files: [file] }, ada, signal);
  expect(content).toMatchObject({ type: 'text', text: expect.stringContaining(words) });
  const expires = Math.ceil(Date.now() / 1000) + 600;
  expect(await here.openLink(file.id, { expires, signature: 'x' })).toBe('away');
  expect(await here.openLink(file.id, { expires: 1, signature: 'x' })).toBe('refused');
  const all = openWith(alone());
  expect((await all.open({ files: [file] }, ada)).lost).toEqual(['sea.txt is no longer stored.']);
  expect(await all.openLink(file.id, { expires, signature: 'x' })).toBe('refused');
});

it('refuses a forged link to a file that it stores, whoever is silent', async () => {
  const here = openWith(alone(['west']));
  const { id } = await here.put({ name: 'sea.txt', mediaType: 'text/plain', bytes: Buffer.from('sea') }, ada);
  const expires = Math.ceil(Date.now() / 1000) + 600;
  expect(await here.openLink(id, { expires, signature: 'x' })).toBe('refused');
});

it('tells a model that cannot see what is written in a picture, and looks for it once', async () => {
  const read = { text: 'HIGH AT EIGHT', isWhole: true } as never;
  const extract = vi.spyOn(ExtractionPool.prototype, 'extract').mockResolvedValue(read);
  onTestFinished(() => extract.mockRestore());
  const files = open();
  const { id } = await files.store({
    name: 'sign.png',
    mediaType: 'image/png',
    bytes: Buffer.from('picture'),
  });
  const described = await files.describe(id, signal);
  expect(described).toMatch(/^sign\.png .*you cannot see images[\s\S]*recognised in it:\nHIGH AT EIGHT$/);
  expect(await files.describe(id, signal)).toBe(described);
  expect(extract).toHaveBeenCalledOnce();
});

it.each(['HIGH AT EIGHT', undefined])(
  'fetches a picture of another switchboard once, and looks once for its text (%s)',
  async (text) => {
    const extract = vi.spyOn(ExtractionPool.prototype, 'extract');
    onTestFinished(() => extract.mockRestore());
    if (text === undefined) extract.mockRejectedValue(new ExtractionError('holds no text'));
    else extract.mockResolvedValue({ text, isWhole: true } as never);
    const [here, there] = openAll(2) as [MessageFiles, MessageFiles];
    const bytes = Buffer.from('picture');
    const { id } = await there.put({ name: 'sign.png', mediaType: 'image/png', bytes }, ada);
    const readSome = vi.spyOn(ContentStore.prototype, 'readSome');
    onTestFinished(() => readSome.mockRestore());
    const described = await here.turnFiles(ada).describe(id, signal);
    expect(described).toMatch(/^sign\.png .*you cannot see images/);
    expect(described.endsWith(`recognised in it:\n${text}`)).toBe(text !== undefined);
    expect(await here.turnFiles(ada).describe(id, signal)).toBe(described);
    expect(readSome).toHaveBeenCalledOnce();
    expect(extract).toHaveBeenCalledOnce();
    // What is known of it is not told to others.
    const eve: Principal = { ...ada, id: 'user:eve' };
    expect(await here.turnFiles(eve).describe(id, signal)).toMatch(/^A file /);
  },
);

it('reads documents that a tool gives, and says what it cannot read', async () => {
  const files = open();
  const pdf = await files.store({ name: 'a.pdf', mediaType: '', bytes: pdfOf('High water at nine') });
  expect(await files.content(pdf.id, signal)).toMatchObject({ type: 'file', text: 'High water at nine' });
  const packed = { name: 'a.gz', mediaType: 'application/gzip', bytes: Buffer.from([31, 139, 8, 0]) };
  const { id } = await files.store(packed);
  expect(await files.content(id, signal)).toMatchObject({
    type: 'text',
    text: expect.stringContaining('cannot read a.gz (application/gzip)'),
  });
});
