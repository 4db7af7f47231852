import { join } from 'node:path';
import type { Principal } from '@trunkline/identity';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { OutsideAnswers } from './outside-answers.ts';

const ava: Principal = { kind: 'person', id: 'user:ava', via: [] };
const day = 24 * 60 * 60 * 1000;
const part = (text: string) => ({ text, calls: [] });

it('counts an answer once, however often it was given', () => {
  const directory = temporaryDirectory();
  const answers = new OutsideAnswers(join(directory.path, 'answers.db'), { most: 3 });
  onTestFinished(() => {
    answers.close();
    directory.remove();
  });
  const texts = ['one', 'two', 'three'];
  for (const text of texts) answers.add([part(text), part(`${text} `), part(text)], ava);
  answers.add([part('three')], ava);
  answers.add([part('three')], ava);
  expect(texts.map((text) => answers.has(part(text), ava))).toEqual([true, true, true]);
  answers.add([part('four')], ava);
  expect(texts.map((text) => answers.has(part(text), ava))).toEqual([false, true, true]);
});

it('knows the newest answers, for a year, also when it is opened again', () => {
  const directory = temporaryDirectory();
  onTestFinished(() => directory.remove());
  let now = Date.UTC(2026, 0, 1);
  const open = () => new OutsideAnswers(join(directory.path, 'answers.db'), { now: () => now, most: 3 });
  let answers = open();
  for (const text of ['one', 'two', 'three', 'one', 'four']) answers.add([part(text), part(' ')], ava);
  answers.close();
  answers.add([part('five')], ava);
  expect(answers.has(part('two'), ava)).toBe(true);
  answers = open();
  const known = () =>
    ['one', ' three\n', 'four', 'two', 'five', ''].map((text) => answers.has(part(text), ava));
  expect(known()).toEqual([true, true, true, false, false, false]);
  // Calls of tools belong to the answer, however their arguments are spelled.
  const call = (given: string) => ({ text: '', calls: [{ function: { name: 'mail', arguments: given } }] });
  answers.add([call('{"a": 1}')], ava);
  expect([answers.has(call('{"a":1}'), ava), answers.has(call('{"a":2}'), ava)]).toEqual([true, false]);
  now += 366 * day;
  expect(known()).not.toContain(true);
  answers.add([part('late')], ava);
  expect(answers.has(part('late'), ava)).toBe(true);
  answers.close();
});

it('knows a short answer as one of its own caller, a long one whoever sends it back', () => {
  const directory = temporaryDirectory();
  const answers = new OutsideAnswers(join(directory.path, 'answers.db'));
  onTestFinished(() => {
    answers.close();
    directory.remove();
  });
  const long = 'The page says that the room is booked, and that the invoice has to be paid by Friday noon.';
  answers.add([part('Done.'), part(long)], ava);
  const known = (caller: Principal) => ['Done.', long].map((text) => answers.has(part(text), caller));
  expect(known({ ...ava, via: ['voice'] })).toEqual([true, true]);
  expect(known({ ...ava, id: 'user:eve' })).toEqual([false, true]);
});

it('lets a caller with very many answers push out their own alone', () => {
  const directory = temporaryDirectory();
  onTestFinished(() => directory.remove());
  const open = () => new OutsideAnswers(join(directory.path, 'answers.db'), { most: 40 });
  let answers = open();
  const eve: Principal = { ...ava, id: 'user:eve' };
  const guest = (index: number): Principal => ({
    ...ava,
    id: `mail:${index}@elsewhere.example`,
    role: 'guest',
  });
  const long = 'The page says that the room is booked, and that the invoice has to be paid by Friday noon.';
  const texts = ['one', 'two', 'three', long];
  for (const text of texts) answers.add([part(text)], ava);
  // The same answer as Ava got is not hers to lose.
  answers.add([part(long)], eve);
  for (let index = 0; index < 200; index += 1) answers.add([part(`page ${index}`)], eve);
  answers.close();
  answers = open();
  for (let index = 0; index < 200; index += 1) answers.add([part(`mail ${index}`)], guest(index));
  expect(texts.map((text) => answers.has(part(text), ava))).toEqual([true, true, true, true]);
  expect(answers.has(part('page 199'), eve)).toBe(true);
  expect(answers.has(part('page 100'), eve)).toBe(false);
  expect(answers.has(part('mail 199'), guest(199))).toBe(true);
  answers.close();
});
