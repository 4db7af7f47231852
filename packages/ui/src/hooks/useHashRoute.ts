import { useSyncExternalStore } from 'react';

/** The parts of the address behind "#/", kept up to date: "#/tasks/7" gives ["tasks", "7"]. */
export function useHashRoute(): readonly string[] {
  const hash = useSyncExternalStore(watchHash, () => window.location.hash);
  return routeOf(hash);
}

/** The address of a route within the page. */
export function hashRoute(...parts: string[]): string {
  return `#/${parts.map(encodeURIComponent).join('/')}`;
}

function watchHash(onChange: () => void): () => void {
  window.addEventListener('hashchange', onChange);
  return () => window.removeEventListener('hashchange', onChange);
}

function routeOf(hash: string): string[] {
  return hash
    .replace(/^#\/?/, '')
    .split('/')
    .filter((part) => part !== '')
    .map(decoded);
}

// An address typed by hand may hold a lone "%".
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
