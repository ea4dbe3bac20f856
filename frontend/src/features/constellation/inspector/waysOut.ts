/** Ways out of a task that does not move, as this page offers them: by the label of the button to press. */

import { skipLabel } from "../../../app/actions/actions.ts";

const BUTTONS: Readonly<Record<string, string>> = {
  answer: "answer the question in the Inbox",
  approve: "approve the plan in the Inbox",
  cancel: "press Cancel",
  edit: "press Edit plan",
  enroll: "add a device under Fleet",
  mark: "say in the terminal how it ended (starloom mark)",
  open: "open the page on that device",
  reassign: "press Edit plan and choose another device for this task",
  release: "press Release",
  resume: "press Resume",
  retry: "press Retry",
};

/** A line that this page has a button for, in words. */
function lineWay(line: string): string {
  const [, from] = /^starloom retry-from (\S+) c-/.exec(line) ?? [];
  if (from) return `open ${from} and press Retry from here`;
  return /^starloom edit \S+ --editor --retry /.test(line) ? "press Plan in rows and change its values there" : line;
}

/** The ways out in words; a line to type or a sentence stays as it is, and one button is named once. */
export function waysOut(actions: readonly string[], state: string | undefined, row = false): string[] {
  const reassigns = actions.includes("reassign");
  return actions
    .filter((action) => !(action === "edit" && reassigns))
    .map((action) =>
      action === "mark" && state === "unknown"
        ? "press It happened or It did not happen"
        : action === "skip"
          ? `press ${skipLabel(state, row)}`
          : (BUTTONS[action] ?? lineWay(action)),
    );
}
