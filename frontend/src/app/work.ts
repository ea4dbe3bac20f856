/** Which tasks each device has now, over the running constellations that the page follows. */
import { useEffect, useMemo, useState } from "react";
import type { StreamModel } from "../model/stream.ts";
import type { Head, TaskRecord } from "../model/types.ts";
import { FINAL } from "../model/words.ts";
import { useWorkspace } from "./context.ts";
import { useResource } from "./resource.ts";

const FOLLOWED_MAX = 12;
const AT_WORK = new Set(["leased", "running", "cancelling"]);

export type Work = ReadonlyMap<string, { task: string; name: string; constellation: string }[]>;

export function useWork(): Work {
  const workspace = useWorkspace();
  const list = useResource("work", (signal) => workspace.hub.constellations({}, signal), 4000);
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
  return useMemo(() => {
    const work = new Map<string, { task: string; name: string; constellation: string }[]>();
    for (const [id, model] of models) {
      const name = model.one<Head>("head")?.name ?? id;
      for (const [task, record] of model.kind<TaskRecord>("task")) {
        if (!record.device || !AT_WORK.has(record.state)) continue;
        const own = work.get(record.device) ?? [];
        own.push({ task, name, constellation: id });
        work.set(record.device, own);
      }
    }
    return work;
  }, [models, turn]);
}
