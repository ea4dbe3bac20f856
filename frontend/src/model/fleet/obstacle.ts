/** Why no device may take a task, as far as the offers of the fleet tell; the hub decides it, and `why` says it whole. */
import type { StreamModel } from "../stream/stream.ts";
import type { Attention, Reason, Selector, TaskSpec } from "../types.ts";
import { type DeviceView, devices } from "./fleet.ts";

/** The attention of a constellation that is about such a task. */
export const OBSTACLES: ReadonlySet<Attention> = new Set<Attention>(["missing_grant", "no_capable_device"]);

/** Null where a device may take it, or where the offers do not tell. */
export function obstacle(
  fleet: StreamModel,
  spec: Pick<TaskSpec, "tool" | "device">,
): Extract<Reason, "missing_grant" | "no_capable_device"> | null {
  if (!spec.tool) return null;
  let offered = false;
  for (const view of devices(fleet).values()) {
    if (spec.device && !selects(spec.device, view)) continue;
    const tool = view.offer?.tools?.find((one) => one.name === spec.tool);
    if (!tool) continue;
    offered = true;
    if (!tool.grant || (view.offer?.grants ?? []).includes(tool.grant)) return null;
  }
  return offered ? "missing_grant" : "no_capable_device";
}

function selects(selector: Selector, view: DeviceView): boolean {
  const { device, offer } = view;
  if (selector.id && device.id !== selector.id) return false;
  if (selector.name && device.name !== selector.name && !device.former_names?.includes(selector.name)) return false;
  if (selector.os && device.os !== selector.os) return false;
  if (selector.labels?.some((label) => !device.labels?.includes(label))) return false;
  const usable = (name: string) => offer?.tools?.some((tool) => tool.name === name && !tool.unavailable);
  if (selector.tools?.some((name) => !usable(name))) return false;
  return !selector.any?.length || selector.any.some((part) => selects(part, view));
}
