import { useEffect, useRef } from 'react';
import { type Hotkey, registerHotkeys } from './hotkeyRegistry.ts';

/** Puts shortcuts in force while the component is shown. */
export function useHotkeys(hotkeys: readonly Hotkey[]): void {
  const latest = useRef(hotkeys);
  useEffect(() => {
    latest.current = hotkeys;
  });
  // Registered anew only when the keys change, not whenever a caller writes the list again.
  const signature = JSON.stringify(hotkeys.map(({ keys, label, whileTyping }) => [keys, label, whileTyping]));
  // biome-ignore lint/correctness/useExhaustiveDependencies: the signature stands for the list
  useEffect(() => {
    const bound = hotkeys.map((hotkey, index) => ({ ...hotkey, run: () => latest.current[index]?.run() }));
    return registerHotkeys(bound);
  }, [signature]);
}
