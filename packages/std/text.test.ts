import { expect, it } from 'vitest';
import { plainName } from './text.ts';

it.each([
  ['../../etc/passwd', 'passwd'],
  ['C:\\Users\\ada\\a "b".txt', 'a b.txt'],
  ['a\r\nset-cookie: x', 'aset-cookie x'],
  ['\u202Egnp.exe', 'gnp.exe'],
  [`😀${'a'.repeat(149)}`, 'a'.repeat(149)],
  ['', 'file'],
])('is the last part of a name, without what could be taken for something else: %j', (given, name) => {
  expect(plainName(given)).toBe(name);
});
