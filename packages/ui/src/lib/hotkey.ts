import { useLayoutEffect, useRef } from 'react';

let registered: readonly Hotkey[] = [];

const listeners = new Set<() => void>();

/** A key with its modifiers, such as "mod+k" or "shift+?"; mod is Command on Apple machines and Control elsewhere. */
export type Keys = string;

export interface KeyPress {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  shiftKey: boolean;
}

/** Whether a key press is the one that the keys name. */
export function matchesKeys(keys: Keys, press: KeyPress, apple: boolean): boolean {
  const { key, mod, alt, shift } = parseKeys(keys);
  const primary = apple ? press.metaKey : press.ctrlKey;
  const secondary = apple ? press.ctrlKey : press.metaKey;
  if (press.key.toLowerCase() !== key || primary !== mod || secondary || press.altKey !== alt) return false;
  // A sign such as "?" needs Shift on one keyboard and not on another: Shift is checked for letters and named keys only.
  return isSign(key) || press.shiftKey === shift;
}

/** The keys in the words of the machine, one for each key cap. */
export function keyCaps(keys: Keys, apple: boolean): string[] {
  const { key, mod, alt, shift } = parseKeys(keys);
  const modifiers = [
    mod && (apple ? '⌘' : 'Ctrl'),
    alt && (apple ? '⌥' : 'Alt'),
    shift && (apple ? '⇧' : 'Shift'),
  ];
  return [...modifiers.filter((cap) => cap !== false), CAP_NAMES[key] ?? capital(key)];
}

export function isApple(platform: string): boolean {
  return /mac|iphone|ipad/i.test(platform);
}

const CAP_NAMES: Record<string, string> = {
  escape: 'Esc',
  arrowup: '↑',
  arrowdown: '↓',
  arrowleft: '←',
  arrowright: '→',
  ' ': 'Space',
  space: 'Space',
};

function parseKeys(keys: Keys) {
  const parts = keys.toLowerCase().split('+');
  const name = parts.at(-1) ?? '';
  const has = (modifier: string) => parts.slice(0, -1).includes(modifier);
  return { key: name === 'space' ? ' ' : name, mod: has('mod'), alt: has('alt'), shift: has('shift') };
}

function isSign(key: string): boolean {
  return key.length === 1 && key !== ' ' && key.toLowerCase() === key.toUpperCase();
}

function capital(key: string): string {
  return key.charAt(0).toUpperCase() + key.slice(1);
}

// All shortcuts that are in force now: one listener serves them, and the help lists them.

export interface Hotkey {
  keys: Keys;
  /** What it does, for the help under "?". */
  label: string;
  /** Left out for a key that the page listens to itself: it is listed, and nothing else. */
  run?(): void;
  /** Also while the person types in a field; plain keys would eat what is typed. */
  whileTyping?: boolean;
}

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

/** Puts shortcuts in force while the component is shown, from its first moment: no key is lost. */
export function useHotkeys(hotkeys: readonly Hotkey[]): void {
  const latest = useRef(hotkeys);
  useLayoutEffect(() => {
    latest.current = hotkeys;
  });
  // Registers again only when the keys change, not with each new list.
  const signature = JSON.stringify(
    hotkeys.map(({ keys, label, whileTyping, run }) => [keys, label, whileTyping, run === undefined]),
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: the signature stands for the list
  useLayoutEffect(() => {
    const bound = hotkeys.map((hotkey, index) =>
      hotkey.run === undefined ? hotkey : { ...hotkey, run: () => latest.current[index]?.run?.() },
    );
    return registerHotkeys(bound);
  }, [signature]);
}
