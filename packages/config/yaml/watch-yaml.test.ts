import {
  appendFileSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { type TemporaryDirectory, temporaryDirectory, waitFor } from '@trunkline/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { ConfigError, watchYaml, type YamlWatch } from '../index.ts';
import { FileFollower } from './watch-yaml.ts';

describe('watch yaml', () => {
  const schema = z.strictObject({ names: z.array(z.string()) });
  type Value = z.output<typeof schema> | undefined;

  let temporary: TemporaryDirectory;
  let path: string;
  let changes: Value[];
  let errors: Error[];
  let open: YamlWatch<Value>[];

  beforeEach(() => {
    temporary = temporaryDirectory();
    path = join(temporary.path, 'names.yaml');
    [changes, errors, open] = [[], [], []];
  });
  afterEach(async () => {
    await Promise.all(open.map((watch) => watch.close()));
    temporary.remove();
  });

  async function follow({ allowMissing = false, settleMs = 40, at = path } = {}): Promise<YamlWatch<Value>> {
    const watch = await watchYaml(at, schema, {
      allowMissing,
      settleMs,
      env: {},
      onChange: (value) => changes.push(value),
      onError: (error) => errors.push(error),
    });
    open.push(watch);
    return watch;
  }

  // The pace of a writer, not a wait for something: its timer always comes before one that is set for longer.
  const paced = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  const names = (...list: string[]) => `names: [${list.join(', ')}]\n`;
  const replace = (content: string, target = path) => {
    writeFileSync(`${target}.tmp`, content);
    renameSync(`${target}.tmp`, target);
  };

  describe('following a file', () => {
    it('loads it, and again when it changes', async () => {
      writeFileSync(path, names('a'));
      const watch = await follow();
      expect(watch.value).toEqual({ names: ['a'] });
      expect(changes).toEqual([]);
      writeFileSync(path, names('b'));
      await waitFor(() => changes.length === 1);
      expect(watch.value).toEqual({ names: ['b'] });
      expect(changes).toEqual([{ names: ['b'] }]);
    });

    it('fails like a plain load when the first version is broken', async () => {
      writeFileSync(path, 'names: 5\n');
      await expect(follow()).rejects.toThrow(`${path}:1:8: names: expected a list, found a number`);
      await expect(follow({ at: join(temporary.path, 'none.yaml') })).rejects.toThrow(
        'there is no such file',
      );
    });

    it('keeps the last good version when the file breaks, says so, and recovers', async () => {
      writeFileSync(path, names('a'));
      const watch = await follow();
      writeFileSync(path, 'names: [a\n');
      await waitFor(() => errors.length === 1);
      expect(watch.value).toEqual({ names: ['a'] });
      expect(errors[0]).toBeInstanceOf(ConfigError);
      expect(errors[0]?.message).toMatch(
        /names\.yaml changed and cannot be used; the last good version stays:\n.*names\.yaml:\d:\d/,
      );
      writeFileSync(path, names('b'));
      await waitFor(() => changes.length === 1);
      expect(watch.value).toEqual({ names: ['b'] });
      expect(errors).toHaveLength(1);
    });

    it('follows a file through atomic replacement, again and again', async () => {
      writeFileSync(path, names('a'));
      const watch = await follow();
      for (const name of ['b', 'c', 'd']) {
        replace(names(name));
        await waitFor(() => watch.value?.names[0] === name);
      }
      expect(changes).toHaveLength(3);
      expect(errors).toEqual([]);
    });

    it('takes deletion and creation for one change', async () => {
      writeFileSync(path, names('a'));
      const watch = await follow();
      unlinkSync(path);
      writeFileSync(path, names('b'));
      await waitFor(() => changes.length === 1);
      expect(watch.value).toEqual({ names: ['b'] });
      expect(errors).toEqual([]);
    });

    it('never shows a half-written state of a file that is written in steps', async () => {
      writeFileSync(path, names('a'));
      const watch = await follow({ settleMs: 400 });
      writeFileSync(path, '');
      // Alone, some of these steps would be broken and some valid but wrong.
      for (const step of ['names:\n', '  - one\n', '  - two\n', '  - "thr', 'ee"\n']) {
        await paced(30);
        appendFileSync(path, step);
      }
      await waitFor(() => changes.length > 0);
      expect(changes).toEqual([{ names: ['one', 'two', 'three'] }]);
      expect(watch.value).toEqual({ names: ['one', 'two', 'three'] });
      expect(errors).toEqual([]);
    });

    it.each([
      ['empties', () => writeFileSync(path, '')],
      ['removes', () => unlinkSync(path)],
    ])('waits longer for a writer that first %s the file', async (_, begin) => {
      writeFileSync(path, names('a'));
      await follow({ settleMs: 100, allowMissing: true });
      begin();
      await paced(250);
      writeFileSync(path, names('b'));
      await waitFor(() => changes.length > 0);
      expect(changes).toEqual([{ names: ['b'] }]);
      expect(errors).toEqual([]);
    });

    it('makes one reload of a burst', async () => {
      writeFileSync(path, names('a'));
      await follow({ settleMs: 150 });
      for (let index = 0; index < 50; index++) writeFileSync(path, names(`n${index}`));
      await waitFor(() => changes.length > 0);
      expect(changes).toEqual([{ names: ['n49'] }]);
    });

    it('tells nothing when the content is as before', async () => {
      writeFileSync(path, names('a'));
      const slower = join(temporary.path, 'slower.yaml');
      writeFileSync(slower, names('x'));
      await follow({ settleMs: 20 });
      const other = await follow({ settleMs: 200, at: slower });
      replace(names('a'));
      writeFileSync(slower, names('y'));
      // By the time the slower file has settled, the first one was read long since.
      await waitFor(() => other.value?.names[0] === 'y');
      expect(changes).toEqual([{ names: ['y'] }]);
    });

    it('keeps the last good version when the file is removed', async () => {
      writeFileSync(path, names('a'));
      const watch = await follow({ settleMs: 20 });
      unlinkSync(path);
      await waitFor(() => errors.length === 1);
      expect(errors[0]?.message).toContain('there is no such file');
      expect(watch.value).toEqual({ names: ['a'] });
      writeFileSync(path, names('b'));
      await waitFor(() => watch.value?.names[0] === 'b');
    });

    it('hands what the reaction throws to onError and goes on', async () => {
      writeFileSync(path, names('a'));
      let calls = 0;
      const onChange = () => {
        calls++;
        if (calls === 1) throw new Error('no room');
      };
      const watch = await watchYaml(path, schema, {
        onChange,
        onError: (error) => errors.push(error),
        settleMs: 20,
      });
      open.push(watch);
      writeFileSync(path, names('b'));
      await waitFor(() => errors.length === 1);
      expect(errors[0]?.message).toBe('no room');
      writeFileSync(path, names('c'));
      await waitFor(() => calls === 2);
    });
  });

  describe('a file that may be missing', () => {
    it('is undefined until it is created, and again when it is removed', async () => {
      const watch = await follow({ allowMissing: true, settleMs: 20 });
      expect(watch.value).toBeUndefined();
      writeFileSync(path, names('a'));
      await waitFor(() => watch.value !== undefined);
      unlinkSync(path);
      await waitFor(() => changes.length === 2);
      expect(changes).toEqual([{ names: ['a'] }, undefined]);
      expect(watch.value).toBeUndefined();
      expect(errors).toEqual([]);
    });

    it('is found when the directories above it are created too', async () => {
      const deep = join(temporary.path, 'one', 'two', 'names.yaml');
      const watch = await follow({ allowMissing: true, at: deep });
      mkdirSync(dirname(deep), { recursive: true });
      writeFileSync(deep, names('a'));
      await waitFor(() => watch.value?.names[0] === 'a');
      rmSync(join(temporary.path, 'one'), { recursive: true });
      await waitFor(() => watch.value === undefined);
      mkdirSync(dirname(deep), { recursive: true });
      writeFileSync(deep, names('b'));
      await waitFor(() => watch.value?.names[0] === 'b');
    });

    it('must be right when it is there at the start', async () => {
      writeFileSync(path, 'names: {}\n');
      await expect(follow({ allowMissing: true })).rejects.toThrow('expected a list, found a map');
    });
  });

  it('follows a file that is mounted through swapped links, as clusters do', async () => {
    const version = (name: string) => {
      mkdirSync(join(temporary.path, `..${name}`));
      writeFileSync(join(temporary.path, `..${name}`, 'names.yaml'), names(name));
      symlinkSync(`..${name}`, join(temporary.path, '..next'));
      renameSync(join(temporary.path, '..next'), join(temporary.path, '..data'));
    };
    version('a');
    symlinkSync(join('..data', 'names.yaml'), path);
    const watch = await follow();
    expect(watch.value).toEqual({ names: ['a'] });
    version('b');
    rmSync(join(temporary.path, '..a'), { recursive: true });
    await waitFor(() => watch.value?.names[0] === 'b');
  });

  it('tells nothing after it was closed, even of a change under way', async () => {
    writeFileSync(path, names('a'));
    const watch = await follow({ settleMs: 30 });
    writeFileSync(path, names('b'));
    await watch.close();
    await watch.close();
    writeFileSync(path, names('c'));
    const other = await follow({ settleMs: 30 });
    writeFileSync(path, names('d'));
    await waitFor(() => other.value?.names[0] === 'd');
    expect(watch.value).toEqual({ names: ['a'] });
    expect(changes).toEqual([{ names: ['d'] }]);
    expect(errors).toEqual([]);
  });
});

describe('file follower', () => {
  let temporary: TemporaryDirectory;
  let path: string;
  let told: (string | undefined)[];

  beforeEach(() => {
    temporary = temporaryDirectory();
    path = join(temporary.path, 'a.yaml');
    told = [];
  });
  afterEach(() => temporary.remove());

  function follow(): FileFollower<string | undefined> {
    return new FileFollower<string | undefined>({
      path,
      settleMs: 10,
      parse: (text) => text,
      onChange: (value) => told.push(value),
      onError: (error) => told.push(error.message),
      onGone: () => told.push('gone'),
    });
  }

  it('says when a file is gone for good, so that it can be forgotten', async () => {
    writeFileSync(path, 'a');
    const follower = follow();
    await follower.load();
    unlinkSync(path);
    follower.poke();
    await waitFor(() => told.includes('gone'));
    expect(told).toEqual([undefined, 'gone']);
  });

  it('says so of a file that came and went unread', async () => {
    const follower = follow();
    follower.poke();
    await waitFor(() => told.length > 0);
    expect(told).toEqual(['gone']);
  });

  it('does not say so of a file that came back', async () => {
    const follower = follow();
    follower.poke();
    writeFileSync(path, 'b');
    await waitFor(() => told.length > 0);
    await follower.close();
    expect(told).toEqual(['b']);
  });

  it('reloads once more when it was poked while it loaded', async () => {
    writeFileSync(path, 'a');
    const follower = follow();
    const loaded = follower.load();
    follower.poke();
    expect(await loaded).toBe('a');
    writeFileSync(path, 'b');
    await waitFor(() => told.includes('b'));
    await follower.close();
  });
});
