import { existsSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import {
  type NatsServer,
  natsMissing,
  startNatsServer,
  temporaryDirectory,
  waitFor,
} from '@trunkline/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { observe } from '../fixtures/observe.ts';
import { type Json, startSwitchboard, type TestSwitchboard } from '../fixtures/start-switchboard.ts';

const nameOf = (file: string) => basename(file, '.yaml');
/** A valid file of its kind that says whose it is. */
function text(file: string, content: string): string {
  const name = nameOf(file);
  if (dirname(file) === 'crons')
    return `id: ${name}\nschedule: "0 4 1 1 *"\ntimezone: UTC\ntopic: cron.${name}\npayload: { content: ${content} }\n`;
  if (dirname(file) === 'routes.d')
    return `name: ${name}\nwhen: { topic: rang.${name} }\nthen: { skill: ${content} }\n`;
  if (file === 'keys.yaml') return `# ${content}\nkeys: []\n`;
  return `approvers: ["chat:${content}"]\n`;
}
const all = (content: string, files: string[]) =>
  Object.fromEntries(files.map((file) => [file, text(file, content)]));

const patient = { timeoutMs: 60_000 };
const at = (board: Pick<TestSwitchboard, 'workspace'>, file: string) => join(board.workspace, file);
const read = (board: Pick<TestSwitchboard, 'workspace'>, file: string) =>
  existsSync(at(board, file)) ? readFileSync(at(board, file), 'utf8') : undefined;
/** The texts that were kept beside a file. */
const kept = (board: Pick<TestSwitchboard, 'workspace'>, file: string) =>
  readdirSync(dirname(at(board, file)))
    .filter((name) => name.startsWith(`${basename(file)}.replaced-`))
    .map((name) => readFileSync(join(dirname(at(board, file)), name), 'utf8'));

/** The newest first. */
const changesOf = async (board: TestSwitchboard, file: string): Promise<Json[]> =>
  (await board.call(`/api/changes?file=${file}`)).body.data;
/** The changes of a file when all have as many, and the same; `shown` leaves out what may differ. */
const alike = (boards: TestSwitchboard[], file: string, count: number, shown = (change: Json) => change) =>
  waitFor(async () => {
    const [first = [], ...others] = await Promise.all(boards.map((board) => changesOf(board, file)));
    const isAlike = others.every((list) => isDeepStrictEqual(list.map(shown), first.map(shown)));
    return isAlike && first.length === count ? first : undefined;
  }, patient);
const undo = (board: TestSwitchboard, { id }: Json) => board.call(`/api/changes/${id}/undo`, {});
const put = (board: TestSwitchboard, name: string, skill: string) =>
  board.fetch(`/api/routes/${name}`, {
    method: 'PUT',
    // biome-ignore lint/suspicious/noThenProperty: the contract of the file names it so.
    body: JSON.stringify({ name, when: { topic: `rang.${name}` }, then: { skill } }),
  });

/** Two switchboards on one NATS server whose homes had files of their own before they shared them. */
describe.skipIf(natsMissing !== undefined)('files that differ between switchboards', () => {
  let nats: NatsServer;
  let one: TestSwitchboard;
  let other: TestSwitchboard;
  beforeAll(async () => {
    nats = await startNatsServer();
    const start = (files: Record<string, string>) => startSwitchboard({ files, env: { NATS_URL: nats.url } });
    const alike = all('Both', ['crons/alike.yaml', 'crons/alike-removed.yaml', 'routes.d/alike.yaml']);
    const differing = ['crons', 'routes.d'].flatMap((folder) =>
      ['saved', 'removed'].map((name) => `${folder}/${name}.yaml`),
    );
    const slip = { 'crons/slip.yaml': 'id: slip\nschedule: soon\n' };
    one = await start({
      ...alike,
      ...all('One', [...differing, 'routes.d/put.yaml', 'approvers.yaml']),
      ...slip,
    });
    const more = ['created', 'passing', 'slip'].map((name) => `crons/${name}.yaml`);
    other = await start({
      ...alike,
      ...all('Other', [
        ...differing,
        'routes.d/put.yaml',
        'approvers.yaml',
        'routes.d/created.yaml',
        ...more,
      ]),
    });
  });
  afterAll(async () => {
    await Promise.all([one, other].map((board) => board.stop()));
    await nats.stop();
  });

  const save = (file: string, content: string) => one.write(file, text(file, content));

  it.each([
    ['crons/saved.yaml', 'New'],
    ['crons/created.yaml', 'New'],
    ['crons/removed.yaml', undefined],
    ['routes.d/saved.yaml', 'New'],
    ['routes.d/created.yaml', 'New'],
    ['routes.d/removed.yaml', undefined],
    ['approvers.yaml', 'New'],
  ])('are kept aside with a warning: %s becomes %s', async (file, content) => {
    if (content === undefined) rmSync(at(one, file));
    else save(file, content);
    await waitFor(() => read(other, file) === (content && text(file, content)), patient);
    expect(kept(other, file)).toEqual([text(file, 'Other')]);
    await waitFor(() =>
      other.log.some((line) => line.includes('kept a file aside') && line.includes(`${file}.replaced-`)),
    );
    // One that this switchboard alone lists could not be undone at the others.
    for (const board of [one, other]) expect(await changesOf(board, file)).toEqual([]);
  });

  it('are kept aside where a request changes the file', async () => {
    const file = 'routes.d/put.yaml';
    const boards = [one, other];
    expect((await put(one, 'put', 'New')).status).toBe(200);
    for (const board of boards) await waitFor(() => read(board, file)?.includes('New'), patient);
    // Either may carry it out; the file of the one that does not is kept aside.
    const all = boards.flatMap((board, index) =>
      kept(board, file).map((aside) => [aside, text(file, ['One', 'Other'][index] ?? '')]),
    );
    expect(all).toHaveLength(1);
    for (const [aside, own] of all) expect(aside).toBe(own);
  });

  it('have the same changes at each after a request that changes nothing, and after an edit by hand', async () => {
    const file = 'routes.d/put.yaml';
    const boards = [one, other];
    expect((await put(other, 'put', 'New')).status).toBe(200);
    // What stood before the first differed.
    const shown = ({ before, diff, ...change }: Json) => change;
    const [newest] = await alike(boards, file, 2, shown);
    expect(newest).toMatchObject({ canUndo: true, before: newest.after });
    save(file, 'Hand');
    for (const board of boards) await waitFor(() => read(board, file) === text(file, 'Hand'), patient);
    expect((await alike(boards, file, 2, shown))[0]).toEqual(newest);
    for (const board of boards) expect((await undo(board, newest)).status).toBe(409);
  });

  it.each(['approvers.yaml', 'keys.yaml'])(
    'are not shared while they are blank, which is reported: %s',
    async (file) => {
      save(file, 'Before');
      await waitFor(() => read(other, file) === text(file, 'Before'), patient);
      const seen = await observe(other);
      one.write(file, '\n');
      const words = `${file} is blank and not shared`;
      await waitFor(
        () =>
          seen.messages.some(
            ({ topic, payload }) => topic === 'system.error' && payload.error.includes(words),
          ),
        patient,
      );
      seen.close();
      await waitFor(() => one.log.some((line) => line.includes(words)), patient);
      expect(read(other, file)).toBe(text(file, 'Before'));
      save(file, 'Again');
      await waitFor(() => read(other, file) === text(file, 'Again'), patient);
    },
  );

  it('keep nothing aside where they were alike', async () => {
    for (const content of ['New', 'Newer'])
      for (const file of ['crons/alike.yaml', 'routes.d/alike.yaml', 'approvers.yaml']) {
        const before = kept(other, file).length;
        save(file, content);
        await waitFor(() => read(other, file) === text(file, content), patient);
        expect(kept(other, file)).toHaveLength(before);
      }
    rmSync(at(one, 'crons/alike-removed.yaml'));
    await waitFor(() => read(other, 'crons/alike-removed.yaml') === undefined, patient);
    expect(kept(other, 'crons/alike-removed.yaml')).toEqual([]);
  });

  it('stay where a switchboard that never had them removes a file of that name', async () => {
    save('crons/passing.yaml', 'Brief');
    rmSync(at(one, 'crons/passing.yaml'));
    rmSync(at(one, 'crons/slip.yaml'));
    // What was removed before it is shared before it.
    save('crons/later.yaml', 'Hello');
    await waitFor(() => read(other, 'crons/later.yaml') === text('crons/later.yaml', 'Hello'), patient);
    for (const file of ['crons/passing.yaml', 'crons/slip.yaml'])
      expect(read(other, file)).toBe(text(file, 'Other'));
  });

  it('have what a request made when it is answered, whichever of them carried it out', async () => {
    // biome-ignore lint/suspicious/noThenProperty: the contract of the file names it so.
    const route = { when: { topic: 'fresh.rang' }, then: { skill: 'chat' } };
    for (let number = 0; number < 12; number += 1) {
      const board = number % 2 === 0 ? one : other;
      const name = `fresh-${number}`;
      expect((await board.call('/api/routes', { name, ...route })).status).toBe(201);
      expect(read(board, `routes.d/${name}.yaml`)).toContain('fresh.rang');
      expect((await board.fetch(`/api/routes/${name}`, { method: 'DELETE' })).status).toBe(200);
      expect(read(board, `routes.d/${name}.yaml`)).toBeUndefined();
    }
  });

  it('tell the journal nothing of a file that can hold credentials', async () => {
    const { body } = await one.call('/api/bus/history?topic=config.files&limit=1000');
    const entries: Json[] = body.data.messages.flatMap(({ message }: Json) => message.payload.entry ?? []);
    const shared = entries.filter(({ name }) => name === 'approvers.yaml');
    expect(shared.length).toBeGreaterThan(1);
    // A digest would let others try what it was made of.
    for (const { replaced, text: open } of shared)
      expect([replaced.includes('.'), open]).toEqual([true, undefined]);
  });
});

describe.skipIf(natsMissing !== undefined)('files that are edited while their switchboard is stopped', () => {
  let nats: NatsServer;
  let one: TestSwitchboard;
  const home = temporaryDirectory();
  const stopped = { workspace: join(home.path, 'switchboard', 'workspace') };
  const start = (files?: Record<string, string>) =>
    startSwitchboard({ ...(files && { files, home: home.path }), env: { NATS_URL: nats.url } });
  const restart = () => startSwitchboard({ home: home.path, env: { NATS_URL: nats.url } });
  const save = (file: string, content: string) => writeFileSync(at(stopped, file), text(file, content));
  const journalled = async (topic: string): Promise<number> =>
    (await one.call(`/api/bus/history?topic=${topic}`)).body.data.messages.length;
  const sharings = async () => {
    const { body } = await one.call('/api/bus/history?topic=config.files&limit=1000');
    return body.data.messages.filter(({ message }: Json) => message.payload.entry !== undefined).length;
  };
  /** Edited at both; at the other by hand and by a request. */
  const both = ['routes.d/both.yaml', 'routes.d/put.yaml'];
  const plain = ['approvers.yaml', 'keys.yaml'];
  const files = ['crons/gong.yaml', 'routes.d/gong.yaml', ...both, 'routes.d/gone.yaml'];

  beforeAll(async () => {
    nats = await startNatsServer();
    const alike = all('Both', [...files, ...plain]);
    one = await startSwitchboard({ files: alike, env: { NATS_URL: nats.url } });
    await (await start(alike)).stop();
  });
  afterAll(async () => {
    await one.stop();
    await nats.stop();
    home.remove();
  });

  /** Takes back, at each, what was edited late, and brings it again at the other. */
  async function takesBack(first: TestSwitchboard, second: TestSwitchboard): Promise<void> {
    const boards = [first, second];
    for (const [file, board, other] of [
      ['routes.d/gong.yaml', first, second],
      ['routes.d/new.yaml', second, first],
    ] as const) {
      const [late] = await alike(boards, file, 1);
      expect((await undo(board, late)).status).toBe(200);
      for (const each of boards)
        await waitFor(() => read(each, file) === (late.before ?? undefined), patient);
      const [back] = await alike(boards, file, 2);
      expect(back).toMatchObject({ undoes: late.id, canUndo: true });
      expect((await undo(other, back)).status).toBe(200);
      for (const each of boards) await waitFor(() => read(each, file) === late.after, patient);
      await alike(boards, file, 3);
    }
    const [fixed] = await alike(boards, 'approvers.yaml', 1);
    for (const board of boards) {
      const { status, body } = await undo(board, fixed);
      expect([status, JSON.stringify(body)]).toEqual([
        400,
        expect.stringContaining('approvers.yaml.replaced-'),
      ]);
    }
  }

  it('are shared at its next start, or kept aside where another has edited them too', async () => {
    const changed = ['crons/gong.yaml', 'routes.d/gong.yaml', ...plain];
    const edited = [...changed, 'routes.d/new.yaml'];
    for (const file of [...edited, ...both]) save(file, 'Meanwhile');
    rmSync(at(stopped, 'routes.d/gone.yaml'));
    const before = await sharings();
    one.write('routes.d/both.yaml', text('routes.d/both.yaml', 'Elsewhere'));
    expect((await put(one, 'put', 'Elsewhere')).status).toBe(200);
    await waitFor(async () => (await sharings()) > before + 1, patient);
    const board = await restart();
    try {
      for (const file of edited) await waitFor(() => read(one, file) === text(file, 'Meanwhile'), patient);
      for (const file of both) {
        for (const each of [one, board])
          await waitFor(() => read(each, file)?.includes('Elsewhere'), patient);
        expect(kept(board, file)).toEqual([text(file, 'Meanwhile')]);
      }
      // An edit that comes late may be an old copy.
      for (const file of changed) {
        expect(kept(one, file)).toEqual([text(file, 'Both')]);
        const [late] = await alike([one, board], file, 1);
        expect(late).toMatchObject({ before: text(file, 'Both'), canUndo: !plain.includes(file) });
      }
      // A file that is missing may be on a disk that is missing.
      await waitFor(
        () => board.log.some((line) => line.includes('removed while') && line.includes('route/gone')),
        patient,
      );
      expect(read(one, 'routes.d/gone.yaml')).toBe(text('routes.d/gone.yaml', 'Both'));
      await takesBack(one, board);
    } finally {
      await board.stop();
    }
  });

  it('are shared once, and when a schedule ran last is no edit', async () => {
    const before = await sharings();
    const cron = text('crons/gong.yaml', 'Meanwhile');
    writeFileSync(at(stopped, 'crons/gong.yaml'), `${cron}lastFired: "2026-01-01T04:00:00.000Z"\n`);
    const board = await restart();
    // It looks at its files when it has read what others did; what it would share comes before this.
    await waitFor(() => board.log.some((line) => line.includes('removed while')), patient);
    await board.stop();
    expect(await sharings()).toBe(before);
  });

  it('give way to what the others have where they are older, and are only named where they are blank', async () => {
    const before = await sharings();
    for (const file of ['routes.d/gong.yaml', 'keys.yaml']) save(file, 'Both');
    save('routes.d/new.yaml', 'Stale');
    utimesSync(at(stopped, 'routes.d/new.yaml'), 0, 0);
    writeFileSync(at(stopped, 'approvers.yaml'), '');
    const board = await restart();
    try {
      const named = '"files":"file/approvers.yaml, route/gone"';
      await waitFor(() => board.log.some((line) => line.includes(named)), patient);
      for (const [file, older] of [
        ['routes.d/gong.yaml', 'Both'],
        ['keys.yaml', 'Both'],
        ['routes.d/new.yaml', 'Stale'],
      ] as const) {
        for (const each of [one, board]) expect(read(each, file)).toBe(text(file, 'Meanwhile'));
        expect(kept(board, file)).toEqual([text(file, older)]);
        expect(await changesOf(board, file)).toEqual(await changesOf(one, file));
      }
      expect(read(one, 'approvers.yaml')).toBe(text('approvers.yaml', 'Meanwhile'));
      expect(await sharings()).toBe(before);
    } finally {
      await board.stop();
      save('approvers.yaml', 'Meanwhile');
    }
  });

  it('are told from what it has done itself', async () => {
    const warned = (board: TestSwitchboard) => board.log.find((line) => line.includes('removed while')) ?? '';
    const first = await restart();
    // biome-ignore lint/suspicious/noThenProperty: the contract of the file names it so.
    const route = { name: 'bell', when: { topic: 'bell.rang' }, then: { skill: 'chat' } };
    for (const name of ['bell', 'chime'])
      expect((await first.call('/api/routes', { ...route, name })).status).toBe(201);
    expect((await first.fetch('/api/routes/chime', { method: 'DELETE' })).status).toBe(200);
    // It missed its time, so that it runs at once; its file goes then.
    const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
    const once = { id: 'once', schedule: ago(30), lastFired: ago(60), topic: 'cron.once' };
    first.write('crons/once.yaml', JSON.stringify({ ...once, payload: { content: 'Now' } }));
    await waitFor(async () => (await journalled('cron.once')) === 1, patient);
    for (const board of [one, first])
      await waitFor(() => read(board, 'crons/once.yaml') === undefined, patient);
    await first.stop();
    const before = await sharings();
    const board = await restart();
    await waitFor(() => warned(board), patient);
    await board.stop();
    expect(await sharings()).toBe(before);
    expect(warned(board)).toContain('"files":"route/gone"');
  });

  it('of another workspace, or none, change nothing at the others', async () => {
    rmSync(stopped.workspace, { recursive: true });
    const before = await sharings();
    const board = await restart();
    await waitFor(() => board.log.some((line) => line.includes('none of the files that it shared')), patient);
    await board.stop();
    expect(await sharings()).toBe(before);
    expect(read(one, 'routes.d/gong.yaml')).toBe(text('routes.d/gong.yaml', 'Meanwhile'));
  });
});
