import { join } from 'node:path';
import { temporaryDirectory } from '@trunkline/testing';
import { expect, it, onTestFinished } from 'vitest';
import { OutsideAnswers } from './outside-answers.ts';

const day = 24 * 60 * 60 * 1000;
const part = (text: string) => ({ text, calls: [] });

it('knows the newest answers, for a year, also when it is opened again', () => {
  const directory = temporaryDirectory();
  onTestFinished(() => directory.remove());
  let now = Date.UTC(2026, 0, 1);
  const open = () => new OutsideAnswers(join(directory.path, 'answers.db'), { now: () => now, most: 3 });
  let answers = open();
  for (const text of ['one', 'two', 'three', 'one', 'four']) answers.add([part(text), part(' ')]);
  answers.close();
  answers.add([part('five')]);
  answers = open();
  const known = () => ['one', ' three\n', 'four', 'two', 'five', ''].map((text) => answers.has(part(text)));
  expect(known()).toEqual([true, true, true, false, false, false]);
  // Calls of tools belong to the answer, however their arguments are spelled.
  const call = (given: string) => ({ text: '', calls: [{ function: { name: 'mail', arguments: given } }] });
  answers.add([call('{"a": 1}')]);
  expect([answers.has(call('{"a":1}')), answers.has(call('{"a":2}'))]).toEqual([true, false]);
  now += 366 * day;
  expect(known()).not.toContain(true);
  answers.add([part('late')]);
  expect(answers.has(part('late'))).toBe(true);
  answers.close();
});
