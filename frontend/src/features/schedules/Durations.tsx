/** How long the last runs of a schedule took. They are read when this is opened: each run is a log to read. */

import { useState } from "react";
import { useWorkspace } from "../../app/workspace/context.ts";
import { useResource } from "../../app/workspace/resource.ts";
import { Schedules } from "../../link/schedules.ts";
import { ProblemNote } from "../../ui/parts.tsx";
import { LastRuns } from "../recipes/trend/LastRuns.tsx";

export function Durations({ id }: { id: string }) {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>How long it took</summary>
      {open && <Read id={id} />}
    </details>
  );
}

function Read({ id }: { id: string }) {
  const { hub } = useWorkspace();
  const read = useResource(`schedule runs ${id}`, (signal) => new Schedules(hub.rest).runs(id, signal));
  if (read.problem) return <ProblemNote problem={read.problem} />;
  return read.value ? <LastRuns trend={read.value} title="Durations" /> : null;
}
