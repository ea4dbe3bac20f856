/**
 * Everything a person can do to a constellation or a task, each with the reason when it cannot be done now.
 * Decides only what to offer; the hub decides what happens. Pure except for the call that each action makes.
 */
import { CONTROLS } from "../../generated/protocol.ts";
import type { Hub, TaskAction, TaskControl } from "../../link/endpoints.ts";
import type { StreamModel } from "../../model/stream/stream.ts";
import { boardOf } from "../../model/tasks/board.ts";
import type { TaskView } from "../../model/tasks/selectors.ts";
import type { GroupRecord, Head } from "../../model/types.ts";
import { parseKept } from "../../model/words/exact.ts";
import { FINAL } from "../../model/words/words.ts";
import type { Asks } from "../../ui/away.tsx";

export interface Action {
  id: string;
  label: string;
  /** Why it is not possible now; null when it is. */
  why: string | null;
  danger?: boolean;
  /** A question before it is done, for what cannot be taken back; a dangerous one has a usual question. */
  asks?: string;
  /** The deed as the button of its dialog names it; without it the label does. */
  deed?: string;
  /** Who may do it, where that is not who may change all work. */
  by?: Asks;
  /** The sentence that is shown once the hub has done it, where nothing else on the page shows it. */
  said?: string;
  run: (confirm?: string[]) => Promise<unknown>;
}

export function constellationActions(hub: Hub, head: Head): Action[] {
  const { state, id } = head;
  const over = FINAL.has(state) ? "It has ended." : null;
  const ending = state === "cancelling" ? "It is being cancelled." : null;
  const act = (action: "pause" | "resume" | "cancel") => () => hub.control(id, action);
  const pausing: Action =
    state === "paused"
      ? { id: "resume", label: "Resume", why: null, run: act("resume") }
      : {
          id: "pause",
          label: "Pause",
          why: over ?? ending ?? (state === "active" ? null : "It has not started yet."),
          run: act("pause"),
        };
  return [
    pausing,
    {
      id: "cancel",
      label: "Cancel",
      deed: "Cancel the constellation",
      why: over ?? ending,
      danger: true,
      // Somebody who may start a few recipes may stop what they started; the hub says of which work.
      by: "start",
      run: act("cancel"),
    },
  ];
}

const FINAL_TASK = new Set(["succeeded", "failed", "cancelled", "skipped"]);
/** A look is history of a planning or a review: it is never done again (core/people/controls.py). */
const LOOK_CONTROLS = new Set(["cancel", "skip"]);
const AT_WORK = new Set(["leased", "running", "cancelling"]);

const OVERRULED = "a person overruled the judge";

/** Whether a task failed since its judge, or a person in its place, said no to its result. */
const refusedByJudge = ({ spec, record }: TaskView): boolean =>
  Boolean(spec.judge) && record?.state === "failed" && record.code === "check_failed";

/** Whether a task is that of one row of a list. */
export const isRow = ({ spec }: Pick<TaskView, "spec">): boolean => Boolean(spec.key);

const LEFT_OUT =
  "It does not run for this row. Tasks that need its result alone are skipped as well; the other rows go on, and the answer says that it was skipped. Retry brings it back.";

/** The skip of a task, as its button names it. */
export const skipLabel = (state: string | undefined, row: boolean): string =>
  state === "failed" ? "Go on without it" : row ? "Leave out" : "Skip";

export function taskActions(hub: Hub, head: Head, view: TaskView): Action[] {
  const state = view.record?.state ?? "waiting";
  const id = view.id;
  const looks = Boolean(view.spec.look) || Boolean(view.ofGoal);
  const can = (control: string) =>
    CONTROLS[state].includes(control) && (!looks || (LOOK_CONTROLS.has(control) && !FINAL_TASK.has(state)));
  const cancelled = head.state === "cancelled" && head.cancelled_by;
  const gone = cancelled
    ? "A cancelled constellation stays as it is."
    : looks
      ? "A model made it: a look, or a step of a goal."
      : null;
  const act = (action: TaskAction, more: TaskControl = {}) => {
    return (confirm?: string[]) => hub.taskControl(head.id, id, action, confirm?.length ? { ...more, confirm } : more);
  };
  const atWork = AT_WORK.has(state) ? "It is at work: cancel it first." : null;
  const done = FINAL_TASK.has(state) ? "It has ended." : null;
  const actions: Action[] = [
    {
      id: "retry",
      label: "Retry",
      why:
        gone ??
        (can("retry")
          ? null
          : state === "succeeded"
            ? "It is done; redo it with Retry from here."
            : (atWork ?? "It has not run yet.")),
      said: `${view.name} is tried again.`,
      run: act("retry"),
    },
    {
      id: "retry-from",
      label: "Retry from here",
      why: gone ?? (can("retry-from") ? null : (atWork ?? "It has not ended yet.")),
      said: `${view.name} and what follows it are done again.`,
      run: act("retry-from"),
    },
    {
      id: "skip",
      label: skipLabel(state, isRow(view)),
      asks: state !== "failed" && isRow(view) ? LEFT_OUT : undefined,
      why:
        (looks && can("skip") ? null : gone) ??
        (can("skip") ? null : (atWork ?? done ?? "Say first whether it happened.")),
      run: act("skip"),
    },
    view.record?.held
      ? { id: "release", label: "Release", why: null, run: act("release") }
      : {
          id: "hold",
          label: "Hold",
          why: gone ?? (can("hold") ? null : (atWork ?? "It has ended.")),
          run: act("hold"),
        },
    {
      id: "cancel",
      label: "Cancel task",
      why: can("cancel")
        ? null
        : (done ?? (state === "cancelling" ? "It is being stopped." : "Say first whether it happened.")),
      danger: true,
      run: act("cancel"),
    },
  ];
  if (refusedByJudge(view)) {
    const held = heldValue(view.attempt?.value);
    actions.unshift({
      id: "holds",
      label: "It holds",
      deed: "Overrule the judge",
      why: gone ?? held.why,
      run: act("mark", { state: "succeeded", value: held.value, reason: OVERRULED }),
    });
  }
  if (state === "unknown") {
    actions.unshift(
      { id: "mark-done", label: "It happened", why: null, run: act("mark", { state: "succeeded" }) },
      { id: "mark-failed", label: "It did not happen", why: null, run: act("mark", { state: "failed" }) },
    );
  }
  return actions;
}

/** The result that a task keeps where the judge is overruled, or why it cannot be said again from here. */
function heldValue(text: string | null | undefined): { value: unknown; why: string | null } {
  if (!text) return { value: null, why: "Its result is kept as a file: retry it, or say so with starloom mark." };
  try {
    return { value: parseKept(text), why: null };
  } catch (error) {
    return { value: null, why: `${(error as Error).message} Say so with starloom mark.` };
  }
}

export function groupActions(
  hub: Hub,
  head: Head,
  group: string,
  record: GroupRecord | undefined,
  goal = false,
): Action[] {
  const state = record?.state ?? "waiting";
  const over = state === "waiting" || state === "expanded" ? null : "It has ended.";
  const act = (action: TaskAction) => (confirm?: string[]) =>
    hub.taskControl(head.id, group, action, confirm?.length ? { confirm } : {});
  return [
    {
      id: "retry",
      label: goal ? "Run again" : "Retry failed",
      why:
        state === "failed" || state === "cancelled" || state === "skipped"
          ? null
          : "Nothing of it has failed for good.",
      said: goal ? "The goal is pursued again." : "All that failed is tried again.",
      run: act("retry"),
    },
    {
      id: "skip",
      label: state === "failed" && !goal ? "Go on without what failed" : "Skip",
      why:
        (state === "failed" && !goal ? null : over) ??
        (state === "expanded" && !goal ? "Part of it has started: cancel it first." : null),
      run: act("skip"),
    },
    { id: "cancel", label: goal ? "Cancel goal" : "Cancel group", why: over, danger: true, run: act("cancel") },
  ];
}

/** All failed tasks of a constellation that may be retried. */
export function failedTasks(model: StreamModel, fleet: StreamModel): TaskView[] {
  return boardOf(model, fleet).failed();
}
