import { ExtractionError, type ExtractionPool } from '@trunkline/documents';
import type { GuardedFetch } from '@trunkline/http';
import type { Principal } from '@trunkline/identity';
import { ContentStore } from '@trunkline/loop';
import { decideByDefault, type PolicyRequest } from '@trunkline/policy';
import { temporaryDirectory } from '@trunkline/testing';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createOwners } from '../owners.ts';
import { AgentContent } from './agent-content.ts';

const room = vi.fn((_quota: string, _bytes: number): string | undefined => undefined);
const fetch = vi.fn(async (_url: string, { allowsRedirect }: Parameters<GuardedFetch>[1] = {}) => {
  const isAllowed = allowsRedirect?.(new URL('http://wiki.internal/payroll'));
  return { body: Buffer.from(`onward: ${isAllowed}`), contentType: 'text/plain', status: 200 };
});
const extract = vi.fn(async () => {
  throw new ExtractionError('is a picture without text that can be recognised');
});
const record = vi.fn();
const guest: Principal = { kind: 'person', id: 'mail:eve@example.com', via: [], role: 'guest' };
const place = { principal: guest, sessionId: 'here' };
const { signal } = new AbortController();
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

let home: ReturnType<typeof temporaryDirectory>;
let store: ContentStore;
let content: AgentContent;

beforeEach(() => {
  vi.clearAllMocks();
  home = temporaryDirectory();
  store = new ContentStore({
    directory: home.path,
    maxFileBytes: 2 ** 20,
    maxTotalBytes: 2 ** 20,
    room,
    secret: 'secret',
  });
  const decide = (request: PolicyRequest) =>
    request.tool === 'fetch_url' && request.subject.host === 'wiki.internal'
      ? { decision: 'deny' as const, rule: 'rules[0]', why: 'not for guests' }
      : decideByDefault(request);
  content = new AgentContent({
    store,
    pool: { extract } as unknown as ExtractionPool,
    fetch: fetch as unknown as GuardedFetch,
    policy: { agent: 'trunkline-agent', decide, record },
    owners: createOwners(() => ({ isShared: false, isOpen: false })),
    publicUrl: () => 'http://agent',
  });
});
afterEach(() => {
  store.close();
  home.remove();
});

it('fetches no address, and follows no redirect, that policy refuses to fetch_url', async () => {
  const uri = 'http://wiki.internal/payroll';
  await expect(content.receive([{ type: 'file', uri }], place, signal)).rejects.toThrow('not for guests');
  expect(fetch).not.toHaveBeenCalled();
  expect(record).toHaveBeenCalledWith(expect.objectContaining({ decision: 'deny', result: 'refused' }));
  const other = { type: 'file' as const, uri: 'http://example.com/note.txt' };
  expect(await content.receive([other], place, signal)).toMatchObject([{ text: 'onward: false' }]);
});

it('takes thoughts and sources of agents for what they are, and what only looks so for data', async () => {
  const part = (kind: string, data: unknown) => ({
    type: 'data' as const,
    data,
    metadata: { mimeType: `application/vnd.trunkline.${kind}-v1+json` },
  });
  const [page, other] = [{ url: 'https://a.example/', title: 'A' }, { url: 'https://b.example/' }];
  const parts = [
    part('reasoning', { text: 'Hm.' }),
    part('citations', { citations: [page, other] }),
    part('citations', { citations: 'none' }),
  ];
  expect(await content.receive(parts, place, signal)).toEqual([
    { type: 'reasoning', text: 'Hm.' },
    { type: 'citation', citation: page },
    { type: 'citation', citation: other },
    { type: 'data', data: { citations: 'none' } },
  ]);
});

it('refuses a data address that is not encoded', async () => {
  const part = { type: 'file' as const, uri: 'data:text/plain,%zz', name: 'a.txt' };
  await expect(content.receive([part], place, signal)).rejects.toThrow('Send its bytes as base64');
});

it('looks for text in a picture once, however often it is described', async () => {
  const { id } = await store.put({ bytes: png, name: 'red.png', mediaType: 'image/png' }, 'a');
  const files = content.turnFiles(place);
  const described = [await files.describe(id, signal), await files.describe(id, signal)];
  expect(described[0]).toContain('you cannot see images');
  expect(described[1]).toBe(described[0]);
  expect(extract).toHaveBeenCalledOnce();
});

it('gives links to large files that work as long as a task is kept', async () => {
  const bytes = Buffer.alloc(2 ** 20 + 1, 'x');
  const large = { id: 'large', name: 'long.txt', mediaType: 'text/plain', size: bytes.length };
  expect(await content.artifact(large)).toMatchObject({ parts: [{ type: 'file', name: 'long.txt' }] });
  const event = await content.artifact(large);
  const [part] = event.type === 'artifact' ? event.parts : [];
  const { searchParams } = new URL(part?.type === 'file' ? (part.uri ?? '') : '');
  const expires = Number(searchParams.get('expires'));
  expect(expires * 1000 - Date.now()).toBeGreaterThan(23 * 3_600_000);
  expect(store.isSigned('large', expires, searchParams.get('signature') ?? '')).toBe(true);
});

it('asks for room on the quota that guests of a surface share', async () => {
  const bytes = Buffer.from('hello');
  await content.receive(
    [{ type: 'file', bytes: bytes.toString('base64'), name: 'a.txt', mediaType: 'text/plain' }],
    place,
    signal,
  );
  await content.turnFiles(place).store({ bytes, name: 'b.txt', mediaType: 'text/plain' });
  const { id } = await content.upload({ bytes, name: 'c.txt', mediaType: 'text/plain' }, guest);
  for (const sessionId of ['here', 'there']) {
    const part = { type: 'file' as const, uri: `trunkline-file:${id}` };
    await content.receive([part], { principal: guest, sessionId }, signal);
  }
  expect(room.mock.calls.map(([quota]) => quota)).toEqual(Array(4).fill('person:mail:*'));
});
