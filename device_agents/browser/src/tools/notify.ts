/** `notify`: a notice of the system where the person allowed it, else a line on the page; it says which it was. */
import { z } from "zod";
import { tool } from "./interface.ts";

const args = z.strictObject({
  text: z.string().min(1).max(1000),
  title: z.string().max(100).default("Starloom"),
  count: z.int().nullish(),
  // The page shows what the system does not, so there is always a place.
  unshown: z.enum(["fail", "log"]).default("fail"),
});

export const notify = tool({
  name: "notify",
  title: "Show a notice on the device",
  capability: "notify",
  args,
  gives: z.strictObject({ text: z.string(), shown: z.enum(["page", "system"]), reason: z.string() }),
  effects: ["write"],
  repeatability: "idempotent",
  resumes: true,
  probe: () => null,
  async run(call, { text, title, count }) {
    const said = count == null ? text : `${text} (${count})`;
    await call.touch();
    call.log(`${title}: ${said}`);
    const reason = await shown(title, said);
    if (reason) call.show(title, said);
    return { text: said, shown: reason ? "page" : "system", reason };
  },
});

/** Why the system showed nothing; empty if it did. */
async function shown(title: string, body: string): Promise<string> {
  if (typeof Notification === "undefined") return "this browser has no notifications";
  if (Notification.permission !== "granted") return "notifications are not allowed for this page";
  try {
    // Phones show notices only through the service worker.
    const worker = await navigator.serviceWorker?.getRegistration();
    if (worker !== undefined) await worker.showNotification(title, { body, tag: body });
    else new Notification(title, { body, tag: body });
    return "";
  } catch (error) {
    return `the browser refused: ${String(error)}`;
  }
}
