/** The menu of a task at the place where it was asked for: open it, its log, its reason, and each action that is possible now. */
import { useDoing } from "../../../app/actions/Actions.tsx";
import { groupActions, taskActions } from "../../../app/actions/actions.ts";
import { useWorkspace } from "../../../app/workspace/context.ts";
import type { StreamModel } from "../../../model/stream/stream.ts";
import { head, taskView } from "../../../model/tasks/selectors.ts";
import type { GroupRecord } from "../../../model/types.ts";
import { Menu, type MenuEntry } from "../../../ui/Menu.tsx";

interface TaskMenuProps {
  model: StreamModel;
  fleet: StreamModel;
  task: string;
  at: { x: number; y: number };
  onOpen: (tab: "log" | "why" | null) => void;
  onClose: () => void;
}

export function TaskMenu({ model, fleet, task, at, onOpen, onClose }: TaskMenuProps) {
  const { hub } = useWorkspace();
  const { perform } = useDoing();
  const constellation = head(model);
  const view = taskView(model, fleet, task);
  const isGroup = Boolean(view?.spec.for_each || view?.spec.nested || view?.spec.goal);
  const actions =
    !constellation || !view
      ? []
      : isGroup
        ? groupActions(hub, constellation, task, model.one<GroupRecord>(`group/${task}`), Boolean(view.spec.goal))
        : taskActions(hub, constellation, view);
  const entries: MenuEntry[] = [
    { label: "Open", run: () => onOpen(null) },
    ...(isGroup
      ? []
      : [
          { label: "Log", run: () => onOpen("log") },
          { label: "Why", run: () => onOpen("why") },
        ]),
    ...actions
      .filter((action) => !action.why)
      .map((action) => ({ label: action.label, run: () => void perform(action) })),
  ];

  return <Menu label={view?.name ?? task} at={at} entries={entries} onClose={onClose} />;
}
