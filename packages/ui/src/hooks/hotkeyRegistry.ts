// All shortcuts that are in force now: one listener serves them, and the help lists them.
import { isApple, type Keys, matchesKeys } from '../lib/hotkey.ts';

export interface Hotkey {
  keys: Keys;
  /** What it does, for the help under "?". */
  label: string;
  /** Left out for a key that the page listens to itself: it is listed, and nothing else. */
  run?(): void;
  /** Also while the person types in a field; plain keys would eat what is typed. */
  whileTyping?: boolean;
}

let registered: readonly Hotkey[] = [];
const listeners = new Set<() => void>();

export function registerHotkeys(hotkeys: readonly Hotkey[]): () => void {
  if (registered.length === 0) window.addEventListener('keydown', onKeyDown);
  change([...registered, ...hotkeys]);
  return () => {
    change(registered.filter((hotkey) => !hotkeys.includes(hotkey)));
    if (registered.length === 0) window.removeEventListener('keydown', onKeyDown);
  };
}

export function registeredHotkeys(): readonly Hotkey[] {
  return registered;
}

export function watchHotkeys(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function change(next: readonly Hotkey[]): void {
  registered = next;
  for (const listener of listeners) listener();
}

function onKeyDown(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return;
  const typing = isTyping(event.target);
  // The one registered last belongs to what opened last, and goes first.
  const hotkey = registered.findLast(
    ({ keys, whileTyping, run }) =>
      run !== undefined && matchesKeys(keys, event, isApple(navigator.platform)) && (!typing || whileTyping),
  );
  if (hotkey === undefined) return;
  event.preventDefault();
  hotkey.run?.();
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return (
    target.isContentEditable || target.matches('textarea, select, input:not([type=checkbox], [type=radio])')
  );
}
