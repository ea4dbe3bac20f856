/** The preview of a request while it is typed, and again when devices, recipes or the work on devices have changed. */

import { useLink, useWorkspace } from "../../../app/workspace/context.ts";
import { type Resource, useResource } from "../../../app/workspace/resource.ts";
import { useSettled } from "../../../app/workspace/settled.ts";
import type { Asked } from "../../../link/endpoints.ts";
import type { RequestPreview } from "../../../model/types.ts";

const TYPING_MS = 250;
const PAUSE_MS = 3000;

interface Previewed {
  preview: Resource<RequestPreview>;
  /** The request that the preview is of; null while there is none. */
  stamp: string | null;
  /** Whether the preview is of the request as it is now. */
  settled: boolean;
}

export function usePreview(asked: Asked | null): Previewed {
  const { hub } = useWorkspace();
  const text = asked ? JSON.stringify(asked) : null;
  // The link says everything anew once it is up, so a preview that was read before it is read twice.
  const linking = useLink().state === "connecting";
  const typed = useSettled(text, TYPING_MS);
  const stamp = linking ? null : typed;
  const preview = useResource<RequestPreview>(
    stamp,
    (signal) => hub.preview(JSON.parse(stamp ?? "{}") as Asked, signal),
    ["devices", "recipes", "tasks"],
    PAUSE_MS,
  );
  return { preview, stamp, settled: stamp === text };
}
