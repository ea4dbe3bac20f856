/** The bar above the work: the lenses, the filter, the priority, and which version is looked at. */
import { useLocation } from "wouter";
import { ActionButton } from "../../../app/actions/Actions.tsx";
import { forkFrom, takeBack, undoneBy } from "../../../app/actions/goingBack.ts";
import { useWorkspace } from "../../../app/workspace/context.ts";
import { type Choice, Tabs } from "../../../ui/parts.tsx";
import { SearchField } from "../../../ui/Search.tsx";
import { PriorityOf } from "../../request/PriorityChoice.tsx";
import { VersionChoice } from "../history/Versions.tsx";
import { callsOf } from "../planning/Conversation.tsx";
import type { Lens } from "../view/lens.ts";
import type { Place } from "./usePlace.ts";
import type { Run } from "./useRun.ts";
import type { Versions } from "./useVersions.ts";

/** A phone shows so few tasks in two screens that a field would take more room than it saves. */
const SEEN_AT_ONCE = 12;

export function Tools({ run, place, versions }: { run: Run; place: Place; versions: Versions }) {
  const { lens, phone } = run;
  const { to, filter } = place;
  return (
    <div className="tools">
      <Tabs<Lens>
        look="seg"
        label="Lens"
        value={lens}
        onChange={(next) => to({ set: { lens: next } })}
        choices={lensesOf(run)}
      />
      {((lens === "list" && (!phone || run.views.length > SEEN_AT_ONCE)) || filter) && (
        <SearchField
          icon="filter"
          className="filter"
          label="Filter tasks"
          placeholder="state: device: dur:>10s name"
          value={filter}
          onChange={(text) => to({ set: { q: text, lens: "list" } }, true)}
          onEscape={() => to({ set: { q: null } }, true)}
        />
      )}
      {!run.final && versions.last > 0 && <PriorityOf constellation={run.head} />}
      {phone && lens !== "timeline" && versions.all.length > 1 && (
        <VersionChoice versions={versions.all} shown={versions.shown} onShow={versions.lookAt} />
      )}
      {versions.past && <PastNote run={run} place={place} versions={versions} />}
    </div>
  );
}

/** Which version is shown, and what can be done with it: go on from it in a new run, or take it back. */
function PastNote({ run, place, versions }: { run: Run; place: Place; versions: Versions }) {
  const workspace = useWorkspace();
  const [, go] = useLocation();
  const version = versions.all.find((one) => one.number === versions.shown);
  const deeds = version
    ? [
        forkFrom(workspace, place.id, { from_version: version.number }, go),
        takeBack(workspace, run.head, version, versions.all),
      ]
    : [];
  const undone = version ? undoneBy(version.number, versions.all) : null;
  return (
    <div className="pastnote small">
      <span>
        As it was at the end of <b>v{versions.shown}</b>
        {undone !== null && `, undone by v${undone}`}
      </span>
      {deeds.map((action) => action && <ActionButton key={action.label} action={action} />)}
    </div>
  );
}

function lensesOf(run: Run): Choice<Lens>[] {
  const lenses: Choice<Lens>[] = [
    { value: "graph", label: "Graph", icon: "graph" },
    { value: "list", label: "List", icon: "list" },
  ];
  if (run.phone) lenses.reverse();
  if (run.planned) lenses.unshift({ value: "planning", label: "Planning", icon: "edit" });
  lenses.push({ value: "timeline", label: "Timeline", icon: "timeline" });
  if (callsOf(run.model).length > 0) lenses.push({ value: "conversation", label: "Conversation", icon: "recipe" });
  if (run.part && !run.beside) lenses.unshift({ value: "answer", label: "Answer", icon: "proof" });
  return lenses;
}
