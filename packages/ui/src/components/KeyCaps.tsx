import { isApple, type Keys, keyCaps } from '../lib/hotkey.ts';

/** A shortcut as key caps, in the words of this machine. */
export function KeyCaps({ keys }: { keys: Keys }) {
  return (
    <span className="inline-flex gap-1">
      {keyCaps(keys, isApple(navigator.platform)).map((cap) => (
        <kbd
          key={cap}
          className="inline-flex h-5 min-w-5 items-center justify-center rounded-small border border-line-strong bg-paper px-1 text-12 text-muted"
        >
          {cap}
        </kbd>
      ))}
    </span>
  );
}
