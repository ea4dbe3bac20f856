/**
 * Makes the page installable and lets it open without the hub: the shell only - the page and its assets.
 *
 * Data never passes through here: the socket does not, and requests outside `/tab/` are not answered. Notices that a
 * task showed are opened by it.
 */
declare const self: ServiceWorkerGlobalScope;

export {};

const OWN = "shell-";
const SHELL = `${OWN}1`;

self.addEventListener("install", (event) => {
  event.waitUntil(self.skipWaiting());
});

self.addEventListener("activate", (event) => {
  const clean = async () => {
    // Caches belong to the whole origin, and those of other names to the hub's page.
    for (const name of await caches.keys()) if (name.startsWith(OWN) && name !== SHELL) await caches.delete(name);
    await self.clients.claim();
  };
  event.waitUntil(clean());
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const path = new URL(request.url).pathname.slice(new URL(self.registration.scope).pathname.length);
  if (request.method !== "GET" || !request.url.startsWith(self.registration.scope)) return;
  if (request.mode === "navigate" && path === "") event.respondWith(fresh(request));
  else if (path.startsWith("assets/")) event.respondWith(kept(request));
});

/** The page from the hub; its last copy where the hub is out of reach. */
async function fresh(request: Request): Promise<Response> {
  const cache = await caches.open(SHELL);
  try {
    const answer = await fetch(request);
    if (answer.ok) await cache.put(self.registration.scope, answer.clone());
    return answer;
  } catch (error) {
    const copy = await cache.match(self.registration.scope);
    if (copy === undefined) throw error;
    return copy;
  }
}

/** An asset has the hash of its bytes in its name, so a copy is as good as the original. */
async function kept(request: Request): Promise<Response> {
  const cache = await caches.open(SHELL);
  const copy = await cache.match(request);
  if (copy !== undefined) return copy;
  const answer = await fetch(request);
  if (answer.ok) await cache.put(request, answer.clone());
  return answer;
}

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const open = async () => {
    const [page] = await self.clients.matchAll({ type: "window" });
    if (page !== undefined) await page.focus();
    else await self.clients.openWindow(self.registration.scope);
  };
  event.waitUntil(open());
});
