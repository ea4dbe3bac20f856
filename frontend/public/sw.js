// Serves the page's own files while the hub is away, so that a reload shows the page. It keeps public files only: what
// the API says is never in its cache, and no request of the API passes through it. Registered by `app/offline.ts`.
const CACHE = "starloom-page";
const FRESH = new Set(["/", "/theme.js", "/icon.svg"]);
const NOT_PAGES = /^\/(api|agent|aip|tab|metrics|healthz|readyz)(\/|$)/;
// Said by a proxy whose hub is away.
const AWAY = new Set([502, 503, 504]);

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("message", (event) => {
  if (event.data === "keep") event.waitUntil(keep());
});
self.addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (request.method !== "GET" || origin !== location.origin || NOT_PAGES.test(pathname)) return;
  if (request.mode === "navigate") event.respondWith(freshOr(request, "/"));
  else if (pathname.startsWith("/assets/")) event.respondWith(keptOr(request));
  else if (FRESH.has(pathname)) event.respondWith(freshOr(request, pathname));
});

async function freshOr(request, path) {
  try {
    const answer = await fetch(request);
    if (!AWAY.has(answer.status)) return answer;
    return (await find(path)) ?? answer;
  } catch (error) {
    const kept = await find(path);
    if (kept) return kept;
    throw error;
  }
}

// The name of such a file holds its hash: what is kept is what the hub would send.
const keptOr = async (request) => (await find(request.url)) ?? fetch(request);

async function find(path) {
  const cache = await caches.open(CACHE);
  return cache.match(path, { ignoreVary: true });
}

// Fetches the files of the build that the hub serves now, and drops those of builds before it.
async function keep() {
  const answer = await fetch("/shell.json", { cache: "no-cache" });
  if (!answer.ok) return;
  const wanted = new Set((await answer.json()).files);
  const cache = await caches.open(CACHE);
  for (const path of wanted) {
    if (FRESH.has(path) || !(await cache.match(path, { ignoreVary: true }))) await cache.add(path);
  }
  for (const request of await cache.keys()) {
    if (!wanted.has(new URL(request.url).pathname)) await cache.delete(request);
  }
}
