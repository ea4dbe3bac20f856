/** The schedules that name a device, so that a person knows them before the device goes. Pure. */
import type { StreamModel } from "../stream/stream.ts";
import type { Schedule } from "../types.ts";

/**
 * By name: in a value, in the words of the request, in a plan of its own, or in what its person approved. A word of the
 * request that only equals the name counts too; no decision depends on it.
 */
export function schedulesNaming(fleet: StreamModel, device: { id: string; name: string }): string[] {
  const alone = new RegExp(`(?<!\\w)${device.name.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")}(?!\\w)`, "i");
  const isNamed = (text: string) => text === device.name || text === device.id;
  const named = [...fleet.kind<Schedule>("schedule").values()].filter((one) => {
    const plan = fleet.one<{ plan?: string }>(`scheduled_plan/${one.id}`)?.plan;
    const { devices = [], computing = [] } = one.consent ?? {};
    const reached = devices.filter((id) => !computing.includes(id));
    const values = [...textsIn(parsed(one.params)), ...textsIn(parsed(plan)), ...reached];
    return values.some(isNamed) || alone.test(one.request ?? "");
  });
  return named.map((one) => one.name || one.id).sort();
}

/** The names of the schedules that run a recipe; a stopped one fires no more. */
export function schedulesRunning(fleet: StreamModel, recipe: string): string[] {
  const all = [...fleet.kind<Schedule>("schedule").values()];
  return all
    .filter((one) => one.recipe === recipe && one.state !== "stopped")
    .map((one) => one.name || one.id)
    .sort();
}

const parsed = (text: string | undefined): unknown => JSON.parse(text || "null");

function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (value === null || typeof value !== "object") return [];
  return Object.values(value).flatMap(textsIn);
}
