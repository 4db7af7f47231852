import { describe, expect, it } from 'vitest';
import { isApple, type KeyPress, keyCaps, matchesKeys } from './hotkey.ts';

const NOTHING_HELD = { ctrlKey: false, metaKey: false, altKey: false, shiftKey: false };

function press(key: string, held: Partial<KeyPress> = {}): KeyPress {
  return { ...NOTHING_HELD, ...held, key };
}

describe('matchesKeys', () => {
  it('takes Control for mod, and Command on Apple machines', () => {
    expect(matchesKeys('mod+k', press('k', { ctrlKey: true }), false)).toBe(true);
    expect(matchesKeys('mod+k', press('k', { metaKey: true }), true)).toBe(true);
    expect(matchesKeys('mod+k', press('k', { metaKey: true }), false)).toBe(false);
    expect(matchesKeys('mod+k', press('k', { ctrlKey: true }), true)).toBe(false);
  });

  it('wants every modifier that is named, and no other', () => {
    expect(matchesKeys('k', press('k', { ctrlKey: true }), false)).toBe(false);
    expect(matchesKeys('mod+k', press('k'), false)).toBe(false);
    expect(matchesKeys('mod+shift+p', press('P', { ctrlKey: true, shiftKey: true }), false)).toBe(true);
    expect(matchesKeys('mod+p', press('P', { ctrlKey: true, shiftKey: true }), false)).toBe(false);
  });

  it('takes a sign however the keyboard makes it', () => {
    expect(matchesKeys('?', press('?', { shiftKey: true }), false)).toBe(true);
    expect(matchesKeys('?', press('?'), false)).toBe(true);
  });

  it('knows named keys', () => {
    expect(matchesKeys('space', press(' '), false)).toBe(true);
    expect(matchesKeys('escape', press('Escape'), false)).toBe(true);
  });
});

describe('keyCaps', () => {
  it('speaks the language of the machine', () => {
    expect(keyCaps('mod+shift+p', false)).toEqual(['Ctrl', 'Shift', 'P']);
    expect(keyCaps('mod+shift+p', true)).toEqual(['⌘', '⇧', 'P']);
    expect(keyCaps('escape', false)).toEqual(['Esc']);
    expect(keyCaps('space', false)).toEqual(['Space']);
  });

  it('knows Apple machines by their platform', () => {
    expect(isApple('MacIntel')).toBe(true);
    expect(isApple('Linux x86_64')).toBe(false);
  });
});
