import { createHash, timingSafeEqual } from 'node:crypto';

export interface KeyEntry<Caller> {
  /** A blank or missing key counts as none and is left out. */
  key: string | undefined;
  caller: Caller;
}

export interface Keyring<Caller> {
  /** How many keys are set. */
  readonly size: number;
  /** Whose key it is; takes the same time whichever key matches, or none. */
  find(presented: string): Caller | undefined;
}

/** Keeps only hashes of the keys. Of two callers with the same key the first has it. */
export function createKeyring<Caller>(entries: Iterable<KeyEntry<Caller>>): Keyring<Caller> {
  const keys = [...entries]
    .filter(({ key }) => key !== undefined && key.trim() !== '')
    .map(({ key, caller }) => ({ hash: hashOf(key ?? ''), caller }));
  return {
    size: keys.length,
    find(presented) {
      const hash = hashOf(presented);
      let found: { caller: Caller } | undefined;
      for (const entry of keys) {
        const matches = timingSafeEqual(entry.hash, hash);
        found = matches && found === undefined ? entry : found;
      }
      return found?.caller;
    },
  };
}

/** Equal lengths for the comparison, whatever the length of the key. */
function hashOf(key: string): Buffer {
  return createHash('sha256').update(key.trim()).digest();
}
