/** `file.save`: files of the hub are saved on this device, by the browser's own download, after a tap. */
import { z } from "zod";
import { tool } from "./interface.ts";

const file = z.looseObject({
  artifact: z.string().regex(/^[0-9a-f]{64}$/),
  name: z.string().max(200).default("file"),
  media: z.string().max(200).default("application/octet-stream"),
});
const args = z.strictObject({
  files: z.array(file).min(1).max(50),
  text: z.string().max(1000).default("Save on this device"),
});

export const fileSave = tool({
  name: "file.save",
  title: "Save files on the device",
  capability: "files",
  args,
  gives: z.strictObject({ saved: z.array(z.string()), count: z.int() }),
  effects: ["write"],
  repeatability: "never",
  resumes: true,
  probe: () => null,
  async run(call, { files, text }) {
    const blobs: { name: string; blob: Blob }[] = [];
    for (const { artifact, name, media } of files) {
      blobs.push({ name, blob: new Blob([await call.fetch(artifact)], { type: media }) });
    }
    const names = blobs.map(({ name }) => name);
    await call.step("saved", async () => {
      const act = async () => {
        await call.touch();
        for (const { name, blob } of blobs) save(name, blob);
      };
      await call.ask({ kind: "tap", text, button: "Save", shown: names.join("\n"), act });
      return true;
    });
    return { saved: names, count: names.length };
  },
});

function save(name: string, blob: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
