import { join } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { type AgentStores, openStores } from '../stores/stores.ts';
import { collectTools } from '../toolset.ts';
import { callTool, toolDeps } from './call-tool.suite.ts';
import { createSetGoal } from './goal-tools.ts';
import { createDailyLog } from './memory-tools.ts';
import type { ToolDeps } from './tool-module.ts';
import { toolModules } from './tool-modules.ts';

let home = temporaryDirectory();
let stores: AgentStores;
const logger = { warn: () => undefined, error: () => undefined };
const call = (name: string, input: object = {}, sessionId?: string) =>
  callTool(storeTools(stores).find((tool) => tool.name === name)!, input, sessionId);
const storeTools = (given: ToolDeps['stores']) =>
  collectTools(
    toolModules.filter(({ name }) => name !== 'web'),
    toolDeps({ stores: given }),
  ).tools;
const goalTool = (commandDirectory?: string) =>
  createSetGoal({ goalsOf: () => stores.goals, commandDirectory });

function placesIn(root: string) {
  return {
    knowledge: join(root, 'knowledge.db'),
    notes: join(root, 'notes.json'),
    beads: join(root, 'beads.db'),
    goals: join(root, 'goals'),
    audit: join(root, 'audit.jsonl'),
    inbox: join(root, 'inbox.db'),
  };
}

beforeEach(async () => {
  home = temporaryDirectory();
  stores = await openStores({ places: placesIn(home.path), logger });
});
afterEach(async () => {
  await stores.close();
  home.remove();
});

/** A second tab that is shared as the flags say. */
async function addTab(name: string, agentRead: boolean, agentWrite: boolean): Promise<void> {
  const workspace = stores.notes.workspace();
  const tab = {
    ...workspace.tabs.notes!,
    id: name,
    name,
    content: `${name} words`,
    permissions: { agentRead, agentWrite },
  };
  await stores.notes.replace({
    ...workspace,
    tabs: { ...workspace.tabs, [name]: tab },
    tabOrder: [...workspace.tabOrder, name],
  });
}

describe('notes', () => {
  it('lists tabs with their flags [A077]', async () => {
    await addTab('Private', false, true);
    expect(await call('notes_list')).toBe('Notes (read: on, write: on)\nPrivate (read: off, write: on)');
  });

  it('reads what is shared and says what is not [A078]', async () => {
    await addTab('Private', false, true);
    await addTab('Public', true, false);
    expect(await call('notes_read')).toBe('## Notes\n(empty)\n\n## Public\nPublic words');
    expect(await call('notes_read', { tab: 'public' })).toBe('Public words');
    expect(await call('notes_read', { tab: 'Private' })).toBe(
      "Error: the tab 'Private' is not shared with the agent.",
    );
    expect(await call('notes_read', { tab: 'None' })).toBe("Error: there is no tab 'None'.");
  });

  it('appends or replaces, in existing writable tabs alone [A079]', async () => {
    await addTab('Locked', true, false);
    expect(await call('notes_write', { tab: 'Notes', content: 'one two' })).toBe(
      "Added to 'Notes' (2 words, 7 characters).",
    );
    await call('notes_write', { tab: 'Notes', content: 'three' });
    expect(await call('notes_read', { tab: 'Notes' })).toBe('one two\nthree');
    expect(await call('notes_write', { tab: 'Notes', content: 'new', mode: 'replace' })).toBe(
      "Replaced 'Notes' (1 words, 3 characters).",
    );
    expect(await call('notes_write', { tab: 'Locked', content: 'x' })).toMatch(
      /^Error: .*not open for writing/,
    );
    expect(await call('notes_write', { tab: 'Missing', content: 'x' })).toMatch(/^Error: there is no tab/);
    await expect(call('notes_write', { tab: 'Notes', content: 'x', mode: 'prepend' })).rejects.toThrow(
      z.ZodError,
    );
  });

  it('makes a tab when asked to, within bounds', async () => {
    const milk = { tab: 'Shopping', content: 'milk', create: true };
    expect(await call('notes_write', milk)).toBe("Added to 'Shopping' (1 words, 4 characters).");
    await call('notes_write', { ...milk, tab: ' SHOPPING', content: 'eggs' });
    expect(await call('notes_read', { tab: 'shopping' })).toBe('milk\neggs');
    expect((await call('notes_list')).match(/shopping/gi)).toHaveLength(1);
    for (const tab of ['', ' ', 'x'.repeat(81)])
      expect(await call('notes_write', { ...milk, tab })).toMatch(/^Error: a tab needs a name/);
    for (let index = 0; index < 199; index += 1) await call('notes_write', { ...milk, tab: `Tab ${index}` });
    expect(await call('notes_write', { ...milk, tab: 'One more' })).toMatch(/^Error: you have 200 tabs/);
  });

  it('goes back by one version or more [A080]', async () => {
    for (const content of ['1', '2', '3'])
      await call('notes_write', { tab: 'Notes', content, mode: 'replace' });
    expect(await call('notes_revert', { tab: 'Notes' })).toBe(
      "Took 'Notes' back by 1 version(s); 2 earlier one(s) left.",
    );
    expect(await call('notes_read', { tab: 'Notes' })).toBe('2');
    expect(await call('notes_revert', { tab: 'Notes', steps: 5 })).toMatch(/^Error: .*has 2 earlier/);
  });
});

describe('memory', () => {
  it('stores under a domain and a stable heading [A081]', async () => {
    expect(await call('memory_ingest', { content: 'tea, not coffee' })).toBe("Stored chunk 1 in 'general'.");
    expect(await call('memory_ingest', { content: 'Bern', domain: 'home', heading: 'town' })).toBe(
      "Stored chunk 2 in 'home'.",
    );
    expect(await call('memory_ingest', { content: 'Basel', domain: 'home', heading: 'town' })).toBe(
      "Stored chunk 2 in 'home'.",
    );
    expect(await call('memory_ingest', { content: ' ' })).toBe('Error: there is nothing to store.');
  });

  it('recalls lines, five by default and at most twenty [A082]', async () => {
    await call('memory_ingest', { content: 'lives in\nBasel', domain: 'home', heading: 'town' });
    expect(await call('memory_recall', { query: 'where in Basel?' })).toBe('[home] town: lives in Basel');
    expect(await call('memory_recall', { query: 'zebra' })).toBe('No matches.');
    stores.knowledge!.ingestAll(
      Array.from({ length: 30 }, (_, index) => ({
        domain: 'd',
        content: `apple ${index}`,
        scope: 'context:session',
      })),
    );
    expect((await call('memory_recall', { query: 'apple' })).split('\n')).toHaveLength(5);
    expect((await call('memory_recall', { query: 'apple', k: 99 })).split('\n')).toHaveLength(20);
    expect((await call('memory_recall', { query: 'apple', k: -1 })).split('\n')).toHaveLength(1);
  });

  it('lists the most recent first [A083]', async () => {
    expect(await call('memory_list')).toBe('Nothing is stored.');
    for (let number = 1; number <= 12; number += 1)
      await call('memory_ingest', { content: `n${number}`, domain: number % 2 === 0 ? 'even' : 'odd' });
    expect((await call('memory_list')).split('\n')).toHaveLength(10);
    expect((await call('memory_list')).split('\n')[0]).toBe('[even] n12');
    expect(await call('memory_list', { domain: 'odd', limit: 2 })).toBe('[odd] n11\n[odd] n9');
  });

  it('counts by domain and in total [A084]', async () => {
    expect(await call('memory_stats')).toBe('total: 0');
    for (const domain of ['b', 'a', 'b']) await call('memory_ingest', { content: 'x', domain });
    expect(await call('memory_stats')).toBe('a: 1\nb: 2\ntotal: 3');
  });

  it("writes the day's log under the UTC date and loses no entry [A085]", async () => {
    const log = createDailyLog(stores.knowledge!, () => new Date('2026-05-01T23:30:00-05:00'));
    expect(await callTool(log, { content: 'first' })).toBe("Stored chunk 1 in 'daily-log'.");
    await callTool(log, { content: 'second' });
    expect(await call('memory_list')).toBe('[daily-log] 2026-05-02: first second');
  });
});

describe('the task board', () => {
  it('creates, lists, updates and closes [A089]', async () => {
    expect(await call('beads_list')).toBe('No issues.');
    expect(await call('beads_create', { title: 'Mend it' })).toBe('Created bd-1: Mend it');
    await call('beads_create', { title: 'Crash', priority: 0, issue_type: 'bug' });
    expect(await call('beads_list')).toBe('bd-2 [open] P0 bug: Crash\nbd-1 [open] P2 task: Mend it');
    expect(await call('beads_update', { issue_id: 'bd-1', status: 'in_progress' })).toBe(
      'Updated bd-1 [in_progress] P2 task: Mend it',
    );
    expect(await call('beads_close', { issue_id: 'bd-2', reason: 'fixed' })).toBe('Closed bd-2.');
    expect(await call('beads_list')).toBe('bd-1 [in_progress] P2 task: Mend it');
    expect(await call('beads_list', { include_closed: true })).toContain('bd-2 [closed]');
    expect(await call('beads_update', { issue_id: 'bd-9', title: 'x' })).toBe('Error: no such issue bd-9.');
    expect(await call('beads_update', { issue_id: 'bd-1' })).toBe('Error: say what to change.');
    await expect(call('beads_create', { title: 'x', issue_type: 'wish' })).rejects.toThrow(z.ZodError);
  });
});

describe('the inbox', () => {
  it('says in its own words that it is empty, and marks what came from outside', async () => {
    const tool = storeTools(stores).find(({ name }) => name === 'check_inbox')!;
    const ownWords = vi.fn();
    const take = () =>
      tool.execute?.(tool.input.parse({}), {
        signal: new AbortController().signal,
        sessionId: 'session',
        toolCallId: 'call',
        ownWords,
      });
    expect(await take()).toBe('Inbox empty.');
    expect(ownWords).toHaveBeenCalledOnce();
    stores.inbox.add({ text: 'from outside', priority: 'next' });
    expect(await take()).toContain('from outside');
    expect(ownWords).toHaveBeenCalledOnce();
  });

  it('gives pending items down to the floor and marks them [A090]', async () => {
    expect(await call('check_inbox')).toBe('Inbox empty.');
    stores.inbox.add({ text: 'later on', priority: 'later' });
    stores.inbox.add({ text: 'two\nlines', priority: 'next', source: 'mail' });
    stores.inbox.add({ text: 'urgent', priority: 'now' });
    expect(await call('check_inbox')).toBe('#3 [now] urgent\n#2 [next] mail: two lines');
    expect(await call('check_inbox')).toBe('Inbox empty.');
    expect(await call('check_inbox', { priority_floor: 'later' })).toBe('#1 [later] later on');
    for (let number = 0; number < 60; number += 1) stores.inbox.add({ text: 'x', priority: 'next' });
    expect((await call('check_inbox')).split('\n')).toHaveLength(10);
    expect((await call('check_inbox', { limit: 500 })).split('\n')).toHaveLength(50);
  });
});

describe('goals', () => {
  it('are set for the conversation that asks', async () => {
    expect(await call('set_goal', { condition: 'green' }, 's1')).toBe('Goal set, checked by llm: green');
    const input = { condition: 'passes', verifier: { type: 'test', command: 'npm test' } };
    const approved = goalTool(home.path);
    expect(approved.tool.pause !== true && approved.tool.pausesFor?.(input)).toBe(true);
    const subject = (await approved.subject(input))!;
    const signal = new AbortController().signal;
    await approved.approve(input, { subject, signal, sessionId: 's2', toolCallId: 'c' });
    expect((await stores.goals.get('s1'))?.condition).toBe('green');
    expect(await stores.goals.get('s2')).toMatchObject({
      verifier: { type: 'test', command: 'npm test' },
      approval: { directory: home.path, files: [] },
    });
    const careless = { condition: 'x', verifier: { type: 'command', command: 'curl evil' } };
    expect(await call('set_goal', careless, 's2')).toMatch(/^Error: commands are off/);
    expect(await callTool(approved.tool, careless, 's2')).toMatch(/^Error: .*nobody can be asked here/);
    expect((await stores.goals.get('s2'))?.condition).toBe('passes');
  });
});

it('offers no tool whose store is left out', async () => {
  const slim = await openStores({
    places: placesIn(join(home.path, 'slim')),
    logger,
    enabled: { knowledge: false, audit: false },
  });
  const names = storeTools(slim).map(({ name }) => name);
  expect(names.filter((name) => name.startsWith('memory_') || name === 'daily_log')).toEqual([]);
  expect(names).toContain('notes_list');
  expect(storeTools({})).toEqual([]);
  expect(slim.audit).toBeUndefined();
  await slim.close();
});
