import { useSyncExternalStore } from 'react';
import { isApple, type Keys, keyCaps, registeredHotkeys, watchHotkeys } from '../lib/hotkey.ts';
import { Dialog } from './Dialog.tsx';

/** Lists every shortcut that works on the page right now. */
export function ShortcutHelp({ open, onClose }: { open: boolean; onClose(): void }) {
  const hotkeys = useSyncExternalStore(watchHotkeys, registeredHotkeys);
  return (
    <Dialog open={open} onClose={onClose} title="Keyboard shortcuts">
      <dl className="flex flex-col">
        {hotkeys.map(({ keys, label }) => (
          <div
            key={`${keys} ${label}`}
            className="flex items-center justify-between gap-4 border-line border-b py-2 last:border-b-0"
          >
            <dt>{label}</dt>
            <dd>
              <KeyCaps keys={keys} />
            </dd>
          </div>
        ))}
      </dl>
      <p className="mt-4">
        <a href="/help" className="text-accent-text underline underline-offset-2">
          Open the documentation
        </a>
      </p>
    </Dialog>
  );
}

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
