/** The mark of a device that is the sample's, or the computer that keeps the hub. */
import { useWorkspace } from "../../../app/workspace/context.ts";
import type { DeviceView } from "../../../model/fleet/fleet.ts";

export function Mark({ view }: { view: DeviceView }) {
  const { session } = useWorkspace();
  if (view.device.demo) return <span className="chip demo">demo</span>;
  return view.id === session?.hub_device ? <span className="chip demo">this hub's own machine</span> : null;
}
