/**
 * The versions of a constellation's plan as its page looks at them: the one that is shown, the plan as it was at its
 * end, and playing them one after the other. Draws nothing.
 */
import { useEffect, useMemo, useState } from "react";
import type { Problem } from "../../../link/rest.ts";
import { type Overlay, overlay } from "../../../model/stream/history.ts";
import type { StreamModel } from "../../../model/stream/stream.ts";
import { versions } from "../../../model/tasks/selectors.ts";
import type { Version } from "../../../model/types.ts";
import { useLog, usePast } from "../history/past.ts";
import type { Place } from "./usePlace.ts";

const PLAY_MS = 1200;

export interface Versions {
  all: Version[];
  last: number;
  /** The version that is looked at; null is the present. */
  shown: number | null;
  /** The model at the end of that version; null in the present, and until the log is there. */
  past: StreamModel | null;
  /** Why the log could not be had. */
  problem: Problem | null;
  /** The marks on what that version brought. */
  drawn: Overlay;
  playing: boolean;
  play: () => void;
  lookAt: (version: number | null) => void;
  /** So many versions on or back from the one that is looked at; past the last one is the present. */
  step: (by: number) => void;
}

export function useVersions(model: StreamModel, place: Place): Versions {
  const { id, to, version: shown } = place;
  const [playing, setPlaying] = useState(false);
  const log = useLog(id, model, shown);
  const past = usePast(log, id, shown);
  const all = versions(model);
  const last = all[all.length - 1]?.number ?? 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: versions change when their number does.
  const drawn = useMemo(() => overlay(all, shown ?? last, shown !== null), [last, shown]);

  useEffect(() => {
    if (!playing) return;
    const at = shown ?? 0;
    const timer = setTimeout(() => {
      if (at >= last) {
        setPlaying(false);
        to({ set: { v: null } }, true);
      } else to({ set: { v: String(at + 1) } }, true);
    }, PLAY_MS);
    return () => clearTimeout(timer);
  }, [playing, shown, last, to]);

  return {
    all,
    last,
    shown,
    past,
    problem: shown === null ? null : log.problem,
    drawn,
    playing,
    play: () => {
      if (!playing) to({ set: { v: "1" } }, true);
      setPlaying(!playing);
    },
    lookAt: (version) => to({ set: { v: version === null ? null : String(version) } }, true),
    step: (by) => {
      const at = Math.max(1, Math.min(last, (shown ?? last) + by));
      to({ set: { v: at === last && by > 0 ? null : String(at) } }, true);
    },
  };
}
