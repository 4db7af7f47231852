import { useLayoutEffect, useRef } from 'react';
import { type Hotkey, registerHotkeys } from './hotkeyRegistry.ts';

/** Puts shortcuts in force while the component is shown, from its first moment: no key is lost. */
export function useHotkeys(hotkeys: readonly Hotkey[]): void {
  const latest = useRef(hotkeys);
  useLayoutEffect(() => {
    latest.current = hotkeys;
  });
  // Registered anew only when the keys change, not whenever a caller writes the list again.
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
