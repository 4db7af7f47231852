import { useSyncExternalStore } from 'react';
import { chooseTheme, storedTheme, type ThemeChoice, watchTheme } from '../theme/theme.ts';
import { useMediaQuery } from './useMediaQuery.ts';

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
