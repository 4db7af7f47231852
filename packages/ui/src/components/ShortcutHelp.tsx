import { useSyncExternalStore } from 'react';
import { registeredHotkeys, watchHotkeys } from '../hooks/hotkeyRegistry.ts';
import { Dialog } from './Dialog.tsx';
import { KeyCaps } from './KeyCaps.tsx';

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
    </Dialog>
  );
}
