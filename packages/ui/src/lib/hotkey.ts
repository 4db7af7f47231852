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
  // A sign such as "?" needs Shift on one keyboard and not on another: only letters and named keys are held to it.
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
