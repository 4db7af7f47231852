import { readStored, writeStored } from '../lib/storage.ts';

export const THEME_CHOICES = ['system', 'light', 'dark'] as const;
export type ThemeChoice = (typeof THEME_CHOICES)[number];

// The script that runs before the first paint reads the same name.
const STORAGE_NAME = 'trunkline.theme';
const listeners = new Set<() => void>();

export function storedTheme(): ThemeChoice {
  const stored = readStored(STORAGE_NAME);
  return THEME_CHOICES.find((choice) => choice === stored) ?? 'system';
}

export function chooseTheme(choice: ThemeChoice): void {
  writeStored(STORAGE_NAME, choice === 'system' ? null : choice);
  applyTheme(choice);
  for (const listener of listeners) listener();
}

/** Calls back when the theme changes here or in another tab. */
export function watchTheme(listener: () => void): () => void {
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
