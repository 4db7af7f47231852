// Keeps the files of the page, so that the installed app opens at once and also without a network.
// Only the page and its assets: nothing of the service itself (/api, /a2a, /healthz) is ever kept.
const CACHE = 'voice-page-1';
const MOST_FILES = 60;

self.addEventListener('install', () => self.skipWaiting());

self.addEventListener('activate', (event) => {
  event.waitUntil(takeOver());
});

self.addEventListener('fetch', (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== 'GET' || origin !== self.location.origin) return;
  if (pathname.startsWith('/static/')) event.respondWith(fromCache(request));
  else if (pathname === '/') event.respondWith(fromNetwork(request));
});

async function takeOver() {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name !== CACHE).map((name) => caches.delete(name)));
  await self.clients.claim();
}

// Names of assets carry a hash of their content: what is kept never grows old.
async function fromCache(request) {
  const cache = await caches.open(CACHE);
  return (await cache.match(request)) ?? fetchAndKeep(cache, request);
}

// The page itself comes from the service while that answers.
async function fromNetwork(request) {
  const cache = await caches.open(CACHE);
  try {
    return await fetchAndKeep(cache, request);
  } catch (error) {
    const kept = await cache.match('/');
    if (kept !== undefined) return kept;
    throw error;
  }
}

async function fetchAndKeep(cache, request) {
  const response = await fetch(request);
  if (response.ok) {
    await cache.put(request, response.clone());
    await dropOldest(cache);
  }
  return response;
}

async function dropOldest(cache) {
  const kept = await cache.keys();
  const surplus = kept.slice(0, Math.max(0, kept.length - MOST_FILES));
  await Promise.all(surplus.map((request) => cache.delete(request)));
}
