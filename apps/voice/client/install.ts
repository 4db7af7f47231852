// The page as an app: a worker that keeps its files, and the browser's offer to install it.
import { useSyncExternalStore } from 'react';

/** Not in the types of the browser: only some offer it. */
interface InstallEvent extends Event {
  prompt(): Promise<unknown>;
}

let offer: InstallEvent | undefined;
const listeners = new Set<() => void>();

/** To be called once, before the browser makes its offer. */
export function prepareInstall(): void {
  window.addEventListener('beforeinstallprompt', (event) => {
    event.preventDefault();
    change(event as InstallEvent);
  });
  window.addEventListener('appinstalled', () => change(undefined));
  if (!('serviceWorker' in navigator)) return;
  // Without the worker the page works as well; it is only not kept.
  navigator.serviceWorker
    .register('./sw.js')
    .catch((error: unknown) => console.warn('No service worker:', error));
}

/** Installs the page; undefined where there is no such offer. */
export function useInstall(): (() => void) | undefined {
  const present = useSyncExternalStore(subscribe, () => offer);
  if (present === undefined) return undefined;
  return () => {
    void present.prompt();
    change(undefined);
  };
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function change(next: InstallEvent | undefined): void {
  offer = next;
  for (const listener of listeners) listener();
}
