import type { ReactNode } from 'react';
import type { LampState } from '../components/Lamp.tsx';
import { SERVICE_NAMES, type ServiceLink, type ServiceName } from './serviceNames.ts';

/** Where a page is in the exchange. */
export interface Place {
  /** Whose page this is. */
  service: ServiceName;
  /** How it is. */
  state: LampState;
  /** The services that run together with it; undefined while that is not known. */
  services: readonly ServiceLink[] | undefined;
  /** The id of the section that is shown. */
  currentSection?: string;
}

export interface Section {
  id: string;
  label: string;
  icon: ReactNode;
  href: string;
}

/** What the parts of the shell know. */
export interface Frame extends Place {
  sections: readonly Section[];
  openPalette(): void;
  openShortcuts(): void;
}

export interface ShellService extends ServiceLink {
  current: boolean;
  /** The state in words. */
  word: string;
}

/** All four services in their order, with what is known of each. */
export function shellServices({ service, state, services }: Place): ShellService[] {
  return SERVICE_NAMES.map((name) => {
    if (name === service) return { name, url: undefined, state, current: true, word: STATE_WORDS[state] };
    const found = services?.find((link) => link.name === name);
    if (found?.url !== undefined) return { ...found, current: false, word: STATE_WORDS[found.state] };
    const word = services === undefined ? 'Not known' : 'Not running here';
    return { name, url: undefined, state: 'idle', current: false, word };
  });
}

const STATE_WORDS: Record<LampState, string> = {
  live: 'Live',
  waiting: 'Not ready',
  failed: 'Failed',
  idle: 'Idle',
};
