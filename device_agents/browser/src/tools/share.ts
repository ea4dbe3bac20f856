/** `share`: hands text, an address or files to another app of this device, by the system's own sheet. */
import { z } from "zod";
import { needsSecure, ToolFailed, tool } from "./interface.ts";

const file = z.looseObject({
  artifact: z.string().regex(/^[0-9a-f]{64}$/),
  name: z.string().max(200).default("file"),
  media: z.string().max(200).default("application/octet-stream"),
});
const args = z.strictObject({
  text: z.string().max(4000).default(""),
  url: z.httpUrl().max(2000).nullish(),
  files: z.array(file).max(20).default([]),
});

export const share = tool({
  name: "share",
  title: "Share with another app of the device",
  capability: "share",
  args,
  gives: z.strictObject({ shared: z.string(), files: z.array(z.string()) }),
  effects: ["reach"],
  repeatability: "never",
  resumes: true,
  probe: (around) =>
    needsSecure(around, "sharing") ?? (around.navigator.share ? null : "this browser cannot share with other apps"),
  async run(call, { text, url, files }) {
    const parts: File[] = [];
    for (const { artifact, name, media } of files) {
      parts.push(new File([await call.fetch(artifact)], name, { type: media }));
    }
    const data: ShareData = { text, ...(url ? { url } : {}), ...(parts.length > 0 ? { files: parts } : {}) };
    const names = parts.map(({ name }) => name);
    if (navigator.canShare !== undefined && !navigator.canShare(data)) {
      throw new ToolFailed("tool_unavailable", `this browser cannot share such a thing: ${names.join(", ") || text}`);
    }
    const content = [text, url ?? "", ...names].filter(Boolean).join("\n");
    const act = async () => {
      await call.touch();
      try {
        await navigator.share(data);
      } catch (error) {
        const closed = error instanceof DOMException && error.name === "AbortError";
        throw new ToolFailed(closed ? "declined" : "tool_failed", closed ? "the sheet was closed" : String(error));
      }
    };
    await call.step("shared", async () => {
      await call.ask({ kind: "tap", text: "Share with another app", button: "Share", shown: content, act });
      return true;
    });
    return { shared: content.slice(0, 1000), files: names };
  },
});
