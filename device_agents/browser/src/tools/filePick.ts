/** `file.pick`: the person picks files of this device; they go to the hub as artifacts, by hash. */
import { z } from "zod";
import { type LocalFile, storedFile, tool } from "./interface.ts";
import { takenFiles } from "./taking.ts";

const args = z.strictObject({
  text: z.string().max(1000).default("Choose the files to send"),
  kinds: z.array(z.enum(["image", "video", "audio", "document"])).default([]),
  many: z.boolean().default(false),
});

const ACCEPT = { image: "image/*", video: "video/*", audio: "audio/*", document: ".pdf,.txt,.csv,.doc,.docx,.odt" };

export const filePick = tool({
  name: "file.pick",
  title: "Let the person pick files",
  capability: "files",
  args,
  gives: z.strictObject({ files: z.array(storedFile.extend({ mtime_s: z.int().optional() })), count: z.int() }),
  effects: ["read"],
  repeatability: "never",
  resumes: true,
  probe: () => null,
  async run(call, { text, kinds, many }) {
    const accept = kinds.map((kind) => ACCEPT[kind]).join(",");
    const files = await call.step("files", async () => {
      return takenFiles((await call.ask({ kind: "files", text, accept, many })) as LocalFile[]);
    });
    const refs = [];
    const total = files.reduce((sum, file) => sum + file.blob.size, 0);
    let before = 0;
    for (const [at, file] of files.entries()) {
      const place = files.length > 1 ? `${at + 1} of ${files.length}` : "";
      const changed = file.modifiedS === undefined ? {} : { mtime_s: file.modifiedS };
      refs.push({ ...(await call.put(file, { before, total, place })), ...changed });
      before += file.blob.size;
    }
    return { files: refs, count: refs.length };
  },
});
