import { describe, expect, it } from 'vitest';
import { createKeyring } from './caller-guard.ts';

describe('createKeyring', () => {
  it('finds each caller by key and nobody by anything else', () => {
    const keyring = createKeyring([
      { key: 'one', caller: 1 },
      { key: ' two ', caller: 2 },
    ]);
    expect(['one', 'two', 'three', ''].map((key) => keyring.find(key))).toEqual([1, 2, undefined, undefined]);
  });

  it('leaves blank keys out, so that a blank presented key never matches', () => {
    const keyring = createKeyring([
      { key: '', caller: 1 },
      { key: '   ', caller: 2 },
      { key: undefined, caller: 3 },
    ]);
    expect(keyring.size).toBe(0);
    expect(keyring.find('')).toBeUndefined();
  });

  it('gives a shared key to the first', () => {
    const keyring = createKeyring([
      { key: 'same', caller: 'first' },
      { key: 'same', caller: 'second' },
    ]);
    expect(keyring.find('same')).toBe('first');
  });
});
