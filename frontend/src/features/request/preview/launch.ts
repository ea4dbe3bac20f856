/** Starting what a preview has shown: once, with the hash of the plan, so that nothing else can run. */

import { useEffect, useState } from "react";
import { useLocation } from "wouter";
import { useWorkspace } from "../../../app/workspace/context.ts";
import { asProblem } from "../../../app/workspace/resource.ts";
import type { Submission } from "../../../link/endpoints.ts";
import type { Problem } from "../../../link/rest.ts";
import type { Priority, RequestPreview, Sharing } from "../../../model/types.ts";

interface Asked {
  asked: Submission | null;
  shown: RequestPreview | null | undefined;
  /** The request that the preview is of. */
  stamp: string | null;
  priority: Priority | null;
  sharing?: Sharing | null;
  onLaunched?: () => void;
}

/** Opens the constellation that it starts; a refusal stays until something else is asked. */
export function useLaunch({ asked, shown, stamp, priority, sharing = null, onLaunched }: Asked) {
  const { hub } = useWorkspace();
  const [, go] = useLocation();
  const [launching, setLaunching] = useState(false);
  const [refused, setRefused] = useState<Problem | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a refusal is of what was asked.
  useEffect(() => setRefused(null), [stamp, priority, sharing]);
  const launch = async () => {
    if (launching || !asked) return;
    setLaunching(true);
    try {
      const hash = shown?.plan_hash;
      const made = await hub.submit({
        ...asked,
        ...(hash && { plan_hash: hash }),
        ...(priority && { priority }),
        ...(sharing && { sharing }),
      });
      onLaunched?.();
      go(`/constellations/${made.id}`);
    } catch (error) {
      setRefused(asProblem(error));
    } finally {
      setLaunching(false);
    }
  };
  return { launch, launching, refused };
}
