/** Which tasks each device has now, over the running constellations that the page follows. */
import { useEffect, useMemo, useState } from "react";
import { useWorkspace } from "../../../app/workspace/context.ts";
import { useResource } from "../../../app/workspace/resource.ts";
import type { StreamModel } from "../../../model/stream/stream.ts";
import type { Head, TaskRecord, TaskSpec } from "../../../model/types.ts";
import { author, FINAL } from "../../../model/words/words.ts";

const FOLLOWED_MAX = 12;
const AT_WORK = new Set(["leased", "running", "cancelling"]);
const AHEAD = new Set(["waiting", "ready"]);

type Placed = { task: string; name: string; constellation: string; by: string };
export type Work = ReadonlyMap<string, Placed[]>;

/** What each device does now. */
export function useWork(): Work {
  const models = useRunning();
  return useMemo(() => gather(models, (record) => (AT_WORK.has(record.state) ? record.device : null)), [models]);
}

/** What one device does now, and what waits for it alone because its plan names it. */
export function useWorkOf({ id, name }: { id: string; name: string }): { now: Placed[]; waiting: Placed[] } {
  const models = useRunning();
  return useMemo(() => {
    const found = gather(models, (record, spec) => {
      if (AT_WORK.has(record.state)) return record.device === id ? "now" : null;
      if (!AHEAD.has(record.state)) return null;
      return spec?.device?.id === id || spec?.device?.name === name ? "waiting" : null;
    });
    return { now: found.get("now") ?? [], waiting: found.get("waiting") ?? [] };
  }, [models, id, name]);
}

type Sort = (record: TaskRecord, spec: TaskSpec | undefined) => string | null | undefined;

function gather(models: ReadonlyMap<string, StreamModel>, sort: Sort): Map<string, Placed[]> {
  const found = new Map<string, Placed[]>();
  for (const [id, model] of models) {
    const head = model.one<Head>("head");
    const [name, by] = [head?.name ?? id, head ? author(head.author) : ""];
    const specs = model.kind<TaskSpec>("spec");
    for (const [task, record] of model.kind<TaskRecord>("task")) {
      const to = sort(record, specs.get(task));
      if (!to) continue;
      const own = found.get(to) ?? [];
      own.push({ task, name, constellation: id, by });
      found.set(to, own);
    }
  }
  return found;
}

/** The running constellations that the page follows; another map whenever one of them has changed. */
function useRunning(): ReadonlyMap<string, StreamModel> {
  const workspace = useWorkspace();
  const list = useResource("work", (signal) => workspace.hub.constellations({}, signal), ["constellations"]);
  const ids = (list.value?.items ?? [])
    .filter((row) => !FINAL.has(row.state))
    .slice(0, FOLLOWED_MAX)
    .map((row) => row.id);
  const key = ids.join(" ");
  const [turn, setTurn] = useState(0);
  const models = useMemo(() => new Map<string, StreamModel>(), []);
  useEffect(() => {
    const own = key ? key.split(" ") : [];
    const stops = own.map((id) => {
      const model = workspace.acquire(id);
      models.set(id, model);
      const stop = model.subscribe(() => setTurn((held) => held + 1));
      return () => {
        stop();
        models.delete(id);
        workspace.release(id);
      };
    });
    setTurn((held) => held + 1);
    return () => {
      for (const stop of stops) stop();
    };
  }, [workspace, key, models]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `turn` says that one of the streams changed.
  return useMemo(() => new Map(models), [models, turn]);
}
