// What a turn reads of issues and notes that others wrote, or that were drawn from text from outside.
import { join } from 'node:path';
import { anonymous, joinOrigins, type Origin, type Principal } from '@trunkline/identity';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { createOwners } from '../owners.ts';
import { openStores } from '../stores/stores.ts';
import { collectTools } from '../toolset.ts';
import { toolDeps } from './call-tool.suite.ts';
import { toolModules } from './tool-modules.ts';

const operator: Principal = { kind: 'operator', id: 'operator', via: [] };
const ava: Principal = { kind: 'person', id: 'user:ava', via: [], role: 'member' };
const bob: Principal = { kind: 'person', id: 'user:bob', via: [], role: 'member' };
const page: Origin = { kind: 'fetch_url', source: 'https://outside.example/' };

async function start() {
  const { path, remove } = temporaryDirectory();
  const logger = { warn: () => undefined, error: () => undefined };
  const at = (name: string) => join(path, name);
  const places = {
    knowledge: at('k.db'),
    notes: at('n.json'),
    beads: at('b.db'),
    goals: at('g'),
    audit: at('a.jsonl'),
    inbox: at('i.db'),
  };
  const stores = await openStores({ places, logger });
  onTestFinished(async () => {
    await stores.close();
    remove();
  });
  const owners = createOwners(() => ({ isShared: false, isOpen: false }));
  const modules = toolModules.filter(({ name }) => name === 'beads' || name === 'notes');
  const actor = (principal: Principal = anonymous) => owners.actor(principal);
  const { tools } = collectTools(modules, toolDeps({ stores, actor }));
  /** Calls a tool for somebody; gives what its result was drawn from. */
  const call = async (principal: Principal, name: string, input: object = {}) => {
    const tool = tools.find((each) => each.name === name);
    if (tool?.execute === undefined) throw new Error(name);
    let origins: readonly Origin[] = [];
    await tool.execute(await tool.input.parseAsync(input), {
      signal: new AbortController().signal,
      sessionId: 's',
      toolCallId: 'c',
      principal,
      addOrigins: (more) => {
        origins = joinOrigins(origins, more);
      },
    });
    return origins;
  };
  return { stores, actor, call };
}

it('an issue stays marked with what its writer had read', async () => {
  const { call } = await start();
  await call(operator, 'beads_create', { title: 'Clean' });
  expect(await call(operator, 'beads_list')).toEqual([]);
  await call({ ...operator, origins: [page] }, 'beads_create', { title: 'Do it' });
  expect(await call(operator, 'beads_list')).toEqual([page]);
  expect(await call(operator, 'beads_update', { issue_id: 'bd-1', priority: 1 })).toEqual([]);
  await call({ ...operator, origins: [page] }, 'beads_update', { issue_id: 'bd-1', title: 'Do that' });
  expect(await call(operator, 'beads_update', { issue_id: 'bd-1', priority: 2 })).toEqual([page]);
});

it('an issue of nobody is text from outside for everybody who is known', async () => {
  const { call } = await start();
  await call(anonymous, 'beads_create', { title: 'Obey' });
  const origins = [{ kind: 'issue', source: 'anonymous' }];
  expect(await call(anonymous, 'beads_list')).toEqual([]);
  expect(await call(ava, 'beads_list')).toEqual(origins);
  expect(await call(operator, 'beads_list')).toEqual(origins);
});

it('a shared tab is text from outside for everybody but the one who wrote it', async () => {
  const { call } = await start();
  await call(operator, 'notes_write', { tab: 'Notes', content: 'Mine.' });
  expect(await call(ava, 'notes_read', { tab: 'Notes' })).toEqual([]);
  await call(ava, 'notes_write', { tab: 'Notes', content: 'Obey.' });
  const origins = [{ kind: 'note', source: 'person:user:ava' }];
  expect(await call(ava, 'notes_read', { tab: 'Notes' })).toEqual([]);
  for (const reader of [operator, bob, anonymous])
    expect(await call(reader, 'notes_read', { tab: 'Notes' })).toEqual(origins);
  await call(operator, 'notes_write', { tab: 'Notes', content: 'Mine again.', mode: 'replace' });
  expect(await call(bob, 'notes_read', { tab: 'Notes' })).toEqual([]);
});

it('a list of tabs carries the marks of the tabs that it names', async () => {
  const { call } = await start();
  await call(operator, 'notes_write', { tab: 'Plan', content: 'Mine.', create: true });
  expect(await call(operator, 'notes_list')).toEqual([]);
  await call(ava, 'notes_write', { tab: 'Obey', content: 'x', create: true });
  expect(await call(ava, 'notes_list')).toEqual([]);
  expect(await call(bob, 'notes_list')).toEqual([]);
  expect(await call(operator, 'notes_list')).toEqual([{ kind: 'note', source: 'person:user:ava' }]);
  await call({ ...ava, origins: [page] }, 'notes_write', { tab: 'Send the key', content: 'x', create: true });
  expect(await call(ava, 'notes_list')).toEqual([page]);
});

it('nobody washes a tab by sending the notes back without its mark', async () => {
  const { stores, actor, call } = await start();
  await call({ ...operator, origins: [page] }, 'notes_write', { tab: 'Notes', content: 'Obey.' });
  for (const [principal, more] of [
    [ava, [{ kind: 'note', source: 'person:user:ava' }]],
    [operator, [{ kind: 'note', source: 'person:user:ava' }]],
  ] as const) {
    const view = stores.notes.for(actor(principal));
    const { tabs, ...rest } = view.workspace();
    const [id = '', tab] = Object.entries(tabs)[0] ?? [];
    const { origins: _dropped, ...metadata } = tab!.metadata;
    const changed = { ...tab!, content: `${tab!.content} More.`, metadata };
    await view.replace({ ...rest, tabs: { [id]: changed } });
    expect(await call(bob, 'notes_read', { tab: 'Notes' })).toEqual([page, ...more]);
  }
});
