/**
 * The absences of the devices that tasks of a run waited for. Only an owner may read the record that has them; for
 * others a wait keeps the words of the report. Draws nothing.
 */
import { useWorkspace } from "../../../app/workspace/context.ts";
import { useResource } from "../../../app/workspace/resource.ts";
import { history } from "../../../link/history.ts";
import { type Absence, absencesOf } from "../../../model/run/absences.ts";

/** More devices are not asked for: each is a call. */
const DEVICES_MOST = 6;
const DEEDS_MOST = 100;
const AGAIN_MS = 10_000;

export function useAbsences(devices: readonly string[]): ReadonlyMap<string, Absence[]> {
  const { hub, session } = useWorkspace();
  const asked = [...devices].sort().slice(0, DEVICES_MOST);
  const key = session?.role === "owner" && asked.length > 0 ? `absences ${asked.join(" ")}` : null;
  const read = useResource(
    key,
    (signal) =>
      Promise.all(
        asked.map(async (device) => {
          const query = { device, kind: "devices" as const, limit: DEEDS_MOST };
          const { items } = await history.activity(hub.rest, query, signal);
          return [device, absencesOf(items)] as const;
        }),
      ),
    ["devices"],
    AGAIN_MS,
  );
  return new Map(read.value ?? []);
}
