import { readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLogger } from '@trunkline/config';
import { type TemporaryDirectory, temporaryDirectory } from '@trunkline/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SessionMemory } from './session-memory.ts';

let home: TemporaryDirectory;
const log: string[] = [];
const logger = createLogger({ name: 'test', destination: { write: (line) => log.push(line) } });

beforeEach(() => {
  home = temporaryDirectory();
  log.length = 0;
});
afterEach(() => home.remove());

const open = async (write = true) => {
  const memory = new SessionMemory({ directory: home.path, write, logger });
  await memory.load();
  return memory;
};
const session = (id: string, asked: string, scope = 'operator') => ({
  scope,
  session_id: id,
  trace_id: null,
  messages: [{ role: 'user', content: asked }],
  tool_calls: 0,
  final_output: `About ${asked}`,
});
const roomy = { sessions: 10, tokens: 2000 };

it('tells of the newest sessions first, within its limits, and never of the session itself [A045]', async () => {
  const memory = await open();
  for (const id of ['one', 'two', 'three']) memory.keep(session(id, `topic ${id}`));
  const digest = memory.digest('operator', 'two', roomy);
  expect(digest.indexOf('topic three')).toBeLessThan(digest.indexOf('topic one'));
  expect(digest).not.toContain('topic two');
  expect(memory.digest('operator', 'none', { sessions: 1, tokens: 2000 })).not.toContain('topic two');
  expect(memory.digest('operator', 'none', { sessions: 10, tokens: 5 })).toBe('');
  memory.keep(session('long', 'word '.repeat(5000)));
  expect(memory.digest('operator', 'none', roomy).length).toBeLessThan(3000);
});

it('comes back after a restart, without files that are damaged', async () => {
  const memory = await open();
  memory.keep(session('a/b', 'slashes'));
  await memory.settled();
  writeFileSync(join(home.path, 'broken.json'), '{"session_id": ');
  const next = await open();
  expect(next.digest('operator', 'none', roomy)).toContain('slashes');
  expect(log.join()).toContain('broken.json');
  await next.forget('a/b');
  expect(readdirSync(home.path)).toEqual(['broken.json']);
  expect(next.digest('operator', 'none', roomy)).toBe('');
});

it("tells nobody of others' sessions, also after a restart", async () => {
  const memory = await open();
  memory.keep(session('a', 'topic of ann', 'person:ann'));
  memory.keep(session('b', 'topic of ben', 'person:ben'));
  memory.keep(session('c', 'topic of nobody', 'context:c'));
  const told = (from: SessionMemory) =>
    ['person:ann', 'person:ben', 'operator', 'context:c', 'context:d'].map(
      (scope) => from.digest(scope, 'none', roomy).match(/topic of (?:ann|ben|nobody)/g) ?? [],
    );
  const own = [['topic of ann', 'topic of ann'], ['topic of ben', 'topic of ben'], [], [], []];
  expect(told(memory)).toEqual(own);
  await memory.settled();
  expect(told(await open())).toEqual(own);
});

it('forgets no digest of somebody for the many sessions of another, also after a restart', async () => {
  const memory = await open();
  memory.keep(session('a', 'topic of ann', 'person:ann'));
  for (let count = 0; count < 300; count += 1)
    memory.keep(session(`b${count}`, `talk ${count}`, 'person:ben'));
  await memory.settled();
  for (const each of [memory, await open()]) {
    expect(each.digest('person:ann', 'none', roomy)).toContain('topic of ann');
    expect(each.digest('person:ben', 'none', roomy)).toContain('talk 299');
  }
});

it("takes what was kept before sessions had owners for the operator's", async () => {
  const { scope: _new, ...old } = session('old', 'topic of old');
  const record = { ...old, summary: 'topic of old', timestamp: '2026-01-01T00:00:00Z' };
  writeFileSync(join(home.path, 'old.json'), JSON.stringify(record));
  const memory = await open();
  expect(memory.digest('operator', 'none', roomy)).toContain('topic of old');
  expect(memory.digest('person:ann', 'none', roomy)).toBe('');
});

it('quotes nothing that came from outside', async () => {
  const memory = await open();
  memory.keep({ ...session('mail', 'an order'), outside: { question: true, answer: true } });
  memory.keep({ ...session('page', 'a look'), outside: { question: false, answer: true } });
  const digest = memory.digest('operator', 'none', roomy);
  expect(digest).not.toContain('an order');
  expect(digest).not.toContain('About a look');
  expect(digest).toContain('a message from outside, answered with text from outside');
  expect(digest).toContain('asked "a look"');
});

it('keeps the newest files, however many sessions there are until the next start', async () => {
  const memory = new SessionMemory({ directory: home.path, write: true, maxFiles: 10, logger });
  await memory.load();
  const keepTen = async (prefix: string) => {
    for (let number = 0; number < 10; number += 1) memory.keep(session(`${prefix}${number}`, 'a topic'));
    await memory.settled();
    return readdirSync(home.path).sort();
  };
  const old = await keepTen('old');
  expect(old).toHaveLength(10);
  for (const name of old) utimesSync(join(home.path, name), 1, 1);
  const left = await keepTen('new');
  expect(left).toEqual(old.map((name) => name.replace('old', 'new')));
});
