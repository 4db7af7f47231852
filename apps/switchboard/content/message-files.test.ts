import { ExtractionPool } from '@trunkline/documents';
import type { Principal } from '@trunkline/identity';
import { pdfOf, temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished, vi } from 'vitest';
import { MessageFiles } from './message-files.ts';

const ada: Principal = { kind: 'person', id: 'user:ada', via: [], role: 'member' };
const { signal } = new AbortController();

function open() {
  const home = temporaryDirectory();
  const files = new MessageFiles({
    directory: home.path,
    maxFileBytes: 2 ** 20,
    maxTotalBytes: 2 ** 22,
    peers: { offer: () => undefined, ask: async () => [] } as never,
    takesFiles: () => true,
    logger: { error: () => undefined } as never,
  });
  onTestFinished(async () => {
    await files.close();
    home.remove();
  });
  return files.turnFiles(ada);
}

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
