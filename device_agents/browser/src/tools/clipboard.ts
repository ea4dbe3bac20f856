/** `clipboard`: puts a text there, or reads the one that is there; each by the person's tap. */
import { z } from "zod";
import { needsSecure, ToolFailed, tool } from "./interface.ts";

const args = z.strictObject({
  /** To be put there; without it the clipboard is read. */
  copy: z
    .string()
    .max(64 * 1024)
    .nullish(),
  text: z.string().max(1000).default(""),
});

export const clipboard = tool({
  name: "clipboard",
  title: "Read or write the device's clipboard",
  capability: "clipboard",
  args,
  gives: z.strictObject({ copied: z.int().optional(), text: z.string().optional() }),
  effects: ["control"],
  repeatability: "never",
  resumes: true,
  probe: (around) =>
    needsSecure(around, "the clipboard") ?? (around.navigator.clipboard ? null : "this browser gives no clipboard"),
  async run(call, { copy, text }) {
    if (copy != null) {
      const act = () => allowed(() => navigator.clipboard.writeText(copy));
      const shown = copy.slice(0, 500);
      await call.step("done", () =>
        call.ask({ kind: "tap", text: text || "Copy this text", button: "Copy", shown, act }),
      );
      return { copied: copy.length };
    }
    const act = () => allowed(() => navigator.clipboard.readText());
    const read = await call.step("done", () =>
      call.ask({ kind: "tap", text: text || "Send what is in the clipboard", button: "Send it", act }),
    );
    return { text: String(read) };
  },
});

async function allowed<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw new ToolFailed("policy_refused", `the browser does not let this page use the clipboard: ${String(error)}`);
  }
}
