import { useSyncExternalStore } from 'react';

/** Where the page is; kept behind the # of the address, so that a reload comes back to it. */
export type Route =
  | { name: 'ask' }
  | { name: 'library' }
  | { name: 'files' }
  | { name: 'sources' }
  | { name: 'chat'; id: string }
  | { name: 'research'; id: string };

export function hrefOf(route: Route): string {
  if (route.name === 'ask') return '#/';
  return 'id' in route ? `#/${route.name}/${encodeURIComponent(route.id)}` : `#/${route.name}`;
}

export function goTo(route: Route): void {
  window.location.hash = hrefOf(route);
}

/** Leaves a page that is there no longer: going back does not return to it. */
export function replaceWith(route: Route): void {
  window.location.replace(hrefOf(route));
}

export function useRoute(): Route {
  const hash = useSyncExternalStore(watchHash, () => window.location.hash);
  return routeOf(hash);
}

export function routeOf(hash: string): Route {
  const [name = '', id = ''] = hash.replace(/^#\/?/, '').split('/');
  if ((name === 'chat' || name === 'research') && id !== '') return { name, id: decodeURIComponent(id) };
  if (name === 'library' || name === 'files' || name === 'sources') return { name };
  return { name: 'ask' };
}

function watchHash(onChange: () => void): () => void {
  window.addEventListener('hashchange', onChange);
  return () => window.removeEventListener('hashchange', onChange);
}
