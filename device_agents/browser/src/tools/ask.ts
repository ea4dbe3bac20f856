/** `ask`: a question on this page; with choices one of them is tapped, else a line is typed. */
import { z } from "zod";
import { tool } from "./interface.ts";

const args = z.strictObject({
  text: z.string().min(1).max(1000),
  choices: z.array(z.string().min(1).max(100)).max(20).default([]),
  within_s: z.int().min(5).max(3600).optional(),
});

export const ask = tool({
  name: "ask",
  title: "Ask the person at the device",
  capability: "ask",
  args,
  gives: z.strictObject({ answer: z.string() }),
  // A card on the tab's own page takes no control of the device, unlike a window of a desktop.
  effects: ["read"],
  repeatability: "never",
  resumes: true,
  probe: () => null,
  async run(call, { text, choices, within_s }) {
    const question = within_s === undefined ? { text } : { text, withinS: within_s };
    const answer = await call.step("answer", () =>
      call.ask(choices.length > 0 ? { kind: "choice", ...question, choices } : { kind: "line", ...question }),
    );
    return { answer: String(answer) };
  },
});
