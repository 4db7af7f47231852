import { useCallback, useSyncExternalStore } from 'react';
import { readStored, writeStored } from '../lib/browser.ts';

export const THEME_CHOICES = ['system', 'light', 'dark'] as const;

// The script that runs before the first paint reads the same name.
const STORAGE_NAME = 'trunkline.theme';

const listeners = new Set<() => void>();

export interface Theme {
  /** What the person chose. */
  choice: ThemeChoice;
  /** What is shown: the choice, or what the system asks for. */
  shown: 'light' | 'dark';
  choose(choice: ThemeChoice): void;
}

export function useTheme(): Theme {
  const choice = useSyncExternalStore(watchTheme, storedTheme);
  const systemIsDark = useMediaQuery('(prefers-color-scheme: dark)');
  const system = systemIsDark ? 'dark' : 'light';
  return { choice, shown: choice === 'system' ? system : choice, choose: chooseTheme };
}

/** Whether a media query holds, kept up to date. */
export function useMediaQuery(query: string): boolean {
  const subscribe = useCallback(
    (onChange: () => void) => {
      const list = window.matchMedia(query);
      list.addEventListener('change', onChange);
      return () => list.removeEventListener('change', onChange);
    },
    [query],
  );
  return useSyncExternalStore(subscribe, () => window.matchMedia(query).matches);
}

export type ThemeChoice = (typeof THEME_CHOICES)[number];

function storedTheme(): ThemeChoice {
  const stored = readStored(STORAGE_NAME);
  return THEME_CHOICES.find((choice) => choice === stored) ?? 'system';
}

function chooseTheme(choice: ThemeChoice): void {
  writeStored(STORAGE_NAME, choice === 'system' ? null : choice);
  applyTheme(choice);
  for (const listener of listeners) listener();
}

/** Calls back when the theme changes here or in another tab. */
function watchTheme(listener: () => void): () => void {
  const onStorage = (event: StorageEvent) => {
    if (event.key !== STORAGE_NAME && event.key !== null) return;
    applyTheme(storedTheme());
    listener();
  };
  listeners.add(listener);
  window.addEventListener('storage', onStorage);
  return () => {
    listeners.delete(listener);
    window.removeEventListener('storage', onStorage);
  };
}

function applyTheme(choice: ThemeChoice): void {
  if (choice === 'system') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = choice;
}
