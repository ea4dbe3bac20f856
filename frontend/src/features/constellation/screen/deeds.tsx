/** All that can be done on a constellation's page: its buttons in the order of their weight, its keys, its entries. */
import { Fragment, type ReactNode } from "react";
import { useLocation } from "wouter";
import { ActionButton, useDoing } from "../../../app/actions/Actions.tsx";
import { constellationActions, taskActions } from "../../../app/actions/actions.ts";
import { useUndo } from "../../../app/actions/useUndo.ts";
import type { PaletteEntry } from "../../../app/shell/finds.ts";
import type { Key } from "../../../app/shell/keys.ts";
import { useWorkspace } from "../../../app/workspace/context.ts";
import { recipeWith, valuesIn } from "../../../model/rows/document.ts";
import { readingOrder, type TaskView } from "../../../model/tasks/selectors.ts";
import { useMay } from "../../../ui/away.tsx";
import { Button } from "../../../ui/parts.tsx";
import { useBreaking } from "../../lab/BreakSomething.tsx";
import { useRepeat } from "../../schedules/Repeat.tsx";
import { readAgain, retryFailed } from "../view/whole.ts";
import type { Place } from "./usePlace.ts";
import type { Run } from "./useRun.ts";
import type { Versions } from "./useVersions.ts";

/** So many tasks are found by the palette: more would make each letter typed a pause. */
const ENTRIES_MAX = 10_000;

/** Where nothing has a way back, no task is looked at. */
const NO_TASKS: readonly TaskView[] = [];

export interface Deeds {
  buttons: ReactNode[];
  /** The dialogs of the buttons: the page draws them, since the buttons change their bar with the layout. */
  dialogs: ReactNode[];
  keys: Key[];
  entries: () => PaletteEntry[];
}

export function useDeeds(run: Run, place: Place, versions: Versions, broughtBy: readonly string[]): Deeds {
  const workspace = useWorkspace();
  const { perform } = useDoing();
  const mayRun = useMay("run");
  const [, go] = useLocation();
  const { id } = place;
  const { head, final } = run;
  const actions = constellationActions(workspace.hub, head);
  const retryAll = retryFailed(workspace.hub, head, run.failed);
  const again = retryAll && readAgain(workspace.hub, head, broughtBy);
  const undoAll = useUndo(workspace, head, run.undo ? run.present : NO_TASKS, null);
  const edit = () => go(`/constellations/${encodeURIComponent(id)}/edit`);
  const begun = versions.last > 0;
  const breaking = useBreaking({ devices: run.used, over: final });
  const repeat = useRepeat(id, head.name || "this");

  const retry = () => {
    const chosen = run.views.find((view) => view.id === place.task);
    const one = chosen && taskActions(workspace.hub, head, chosen).find((action) => action.id === "retry");
    if (one) void perform(one);
    else if (retryAll) void perform(retryAll);
  };
  const cancel = () => {
    const asked = actions.find((action) => action.id === "cancel");
    if (asked) void perform(asked);
  };

  const { recipe } = head;
  const asBefore = final && recipe && (() => go(recipeWith(recipe, valuesIn(head.params ?? null))));
  const inRows = () => go(`/new?way=build&from=${encodeURIComponent(id)}`);
  /** What a button opens, for the search by its name. */
  const places = [
    ...(final ? [] : [{ label: "Edit plan", run: edit }]),
    ...(asBefore ? [{ label: "Run again", run: asBefore }] : []),
    { label: "Plan in rows", run: inRows },
    ...(final && mayRun ? [{ label: "Repeat...", run: repeat.open }] : []),
  ].filter(() => begun);

  const retries = [
    retryAll && <ActionButton key="retry" action={retryAll} />,
    again && <ActionButton key="again" action={again} />,
  ];
  return {
    // The last ones go behind *More* first. While it runs no button takes the place of *Pause* or *Cancel*.
    buttons: [
      ...(final ? retries : []),
      ...(final ? [] : actions.map((action) => <ActionButton key={action.id} action={action} />)),
      ...(final ? [] : retries),
      !final && begun && (
        <Button key="edit" icon="edit" title="Edit the plan while it runs (e)" onClick={edit}>
          Edit plan
        </Button>
      ),
      undoAll && <ActionButton key="undo" action={undoAll} />,
      begun && asBefore && (
        <Button key="anew" title="Its recipe with the values of this run, to be changed first" onClick={asBefore}>
          Run again
        </Button>
      ),
      begun && (
        <Button key="rows" title="Change its plan and run it again, or save it as a recipe" onClick={inRows}>
          Plan in rows
        </Button>
      ),
      breaking.button && <Fragment key="break">{breaking.button}</Fragment>,
      final && begun && <Fragment key="repeat">{repeat.button}</Fragment>,
    ].filter(Boolean),
    dialogs: [<Fragment key="break">{breaking.dialog}</Fragment>, <Fragment key="repeat">{repeat.dialog}</Fragment>],
    keys: [
      { keys: "1", does: "Graph", run: () => place.to({ set: { lens: "graph" } }) },
      { keys: "2", does: "List", run: () => place.to({ set: { lens: "list" } }) },
      { keys: "3", does: "Timeline", run: () => place.to({ set: { lens: "timeline" } }) },
      { keys: "j", does: "Next task", run: () => step(run, place, 1) },
      { keys: "k", does: "Previous task", run: () => step(run, place, -1) },
      ...(final ? [] : [{ keys: "e", does: "Edit the plan while it runs", run: edit }]),
      { keys: "x", does: "Next failure", run: () => nextFailure(run, place) },
      { keys: "l", does: "Log of the task", run: place.openLog },
      { keys: "r", does: "Retry the task", run: retry },
      {
        keys: "Escape",
        does: "Close the task",
        run: () => place.to(place.task ? { task: null } : { set: { q: null } }),
      },
      { keys: "[", does: "Earlier version", run: () => versions.step(-1) },
      { keys: "]", does: "Later version", run: () => versions.step(1) },
      { keys: " ", does: "Play the versions", run: versions.play },
      { keys: ".", does: "Cancel (asks)", run: cancel },
    ],
    entries: () => [
      ...actions.map((action) => ({
        id: action.id,
        group: "Do",
        label: `${action.label} this constellation`,
        note: action.why ?? "",
        run: () => void perform(action),
      })),
      ...[retryAll, again, undoAll].flatMap((action) =>
        action ? [{ id: action.id, group: "Do", label: action.label, run: () => void perform(action) }] : [],
      ),
      ...places.map(({ label, run: open }) => ({ id: label, group: "Do", label, run: open })),
      ...run.views.slice(0, ENTRIES_MAX).map((view) => ({
        id: `task ${view.id}`,
        group: "Task",
        label: view.name,
        note: view.shown.word,
        run: () => place.select(view.id),
      })),
    ],
  };
}

function step(run: Run, place: Place, by: number): void {
  const list = readingOrder(run.filtered);
  const at = list.findIndex((view) => view.id === place.task);
  const next = list[Math.max(0, Math.min(list.length - 1, at < 0 ? 0 : at + by))];
  if (next) place.selectByKey(next.id);
}

function nextFailure(run: Run, place: Place): void {
  const at = run.failed.findIndex((view) => view.id === place.task);
  const next = run.failed[(at + 1) % Math.max(1, run.failed.length)];
  if (next) place.selectByKey(next.id);
}
