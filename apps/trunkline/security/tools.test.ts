import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startModelServer } from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { keyOf, type Locked, obey, startLocked } from './security.suite.ts';

const canary = 'canary-that-no-model-may-read';
let model: Awaited<ReturnType<typeof startModelServer>>;
let locked: Locked;
let outside: string;

beforeAll(async () => {
  model = await startModelServer({ script: obey });
  locked = await startLocked({ env: { LLM_GATEWAY_URL: model.url, LLM_API_KEY: 'k', LLM_MODEL: 'm' } });
  outside = join(locked.outside, 'escaped.txt');
  writeFileSync(outside, canary);
});
afterAll(async () => {
  await locked.stop();
  await model.stop();
});

type Service = 'agent' | 'switchboard';

/** What the tool said when the model called it with these arguments. */
async function call(name: Service, tool: string, given: object): Promise<string> {
  const text = `CALL${JSON.stringify({ name: tool, arguments: given })}`;
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }] };
  const response = await fetch(`${locked.target(name).url}/message:send`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0', ...keyOf(name, '/message:send') },
    body: JSON.stringify({ message }),
  });
  const { task } = (await response.json()) as { task: { artifacts?: { parts: { text: string }[] }[] } };
  return task.artifacts?.[0]?.parts[0]?.text ?? '';
}

describe.each(['agent', 'switchboard'] as const)('a model that drives the file tools of the %s', (name) => {
  it('works inside its folder', async () => {
    expect(await call(name, 'write_file', { path: 'notes.txt', content: 'hello' })).toContain('Wrote 5');
    expect(await call(name, 'read_file', { path: 'notes.txt' })).toContain('hello');
  });

  it('reads and writes nothing around it', async () => {
    const paths = [
      '../escaped.txt',
      '../../../../../escaped.txt',
      '../'.repeat(20) + outside,
      outside,
      'a/../../../escaped.txt',
    ];
    for (const path of paths) {
      expect(await call(name, 'write_file', { path, content: 'overwritten' })).toMatch(/said: Error/);
      expect(await call(name, 'edit_file', { path, old_text: canary, new_text: 'x' })).toMatch(/said: Error/);
      expect(await call(name, 'read_file', { path })).toMatch(/said: Error/);
      expect(await call(name, 'list_dir', { path: join(path, '..') })).not.toContain('escaped.txt');
    }
    expect(readFileSync(outside, 'utf8')).toBe(canary);
  });

  it('follows no link out of it', async () => {
    const folder = folderOf(name);
    symlinkSync(locked.outside, join(folder, 'way-out'));
    expect(await call(name, 'read_file', { path: 'way-out/escaped.txt' })).toMatch(/said: Error/);
    expect(await call(name, 'write_file', { path: 'way-out/new.txt', content: 'x' })).toMatch(/said: Error/);
    expect(await call(name, 'search_files', { pattern: canary, query: canary })).not.toContain(
      'escaped.txt:',
    );
    expect(readdirSync(locked.outside)).not.toContain('new.txt');
  });
});

/** Where the file of the first test went. */
function folderOf(name: Service): string {
  const found = readdirSync(join(locked.home, name), { recursive: true, withFileTypes: true });
  return found.find((entry) => entry.name === 'notes.txt')?.parentPath ?? '';
}
