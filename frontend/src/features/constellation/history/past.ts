/** The log of a constellation behind its live model: its end for the feed, all of it only for a look at a version. */
import { useEffect, useMemo, useRef } from "react";
import { useStream, useWorkspace } from "../../../app/workspace/context.ts";
import { useResource } from "../../../app/workspace/resource.ts";
import { lastSeqOf, modelAt } from "../../../model/stream/history.ts";
import type { StreamModel } from "../../../model/stream/stream.ts";
import type { StreamEvent } from "../../../model/types.ts";

const PAST_EVENTS = 400;

/**
 * Puts the last events before those that the model has heard, once, as soon as something shows them. A snapshot brings
 * none. It reads up to the first event that was heard, since the stream brings all later ones.
 */
export function useFeedPast(id: string, model: StreamModel, wanted: boolean): void {
  const { hub } = useWorkspace();
  const asked = useRef(false);
  asked.current ||= wanted && model.ready;
  const past = useResource<StreamEvent[]>(asked.current ? `past ${id}` : null, (signal) => {
    const heard = model.events[0]?.seq ?? model.seq + 1;
    return hub.events(id, Math.max(0, heard - 1 - PAST_EVENTS), signal, heard - 1);
  });
  useEffect(() => {
    if (past.value) model.readPast(past.value);
  }, [past.value, model]);
}

/**
 * The whole log up to now, once a version is looked at: of a large constellation it is many times what the page needs.
 * The model keeps its last events alone, so a later look reads again where the two do not meet any more.
 */
export function useLog(id: string, model: StreamModel, version: number | null) {
  const { hub } = useWorkspace();
  const held = useRef<{ version: number | null; upTo: number }>({ version: null, upTo: -1 });
  const { upTo } = held.current;
  if (model.ready && version !== held.current.version) {
    const meets = model.events.filter((event) => event.seq > upTo).length === model.seq - upTo;
    held.current = { version, upTo: version === null || meets ? upTo : model.seq };
  }
  const end = held.current.upTo;
  return useResource<StreamEvent[]>(end < 0 ? null : `log ${id} ${end}`, (signal) => hub.events(id, 0, signal, end));
}

/** The stream as it was at the end of a version; null for the present. */
export function usePast(log: { value: StreamEvent[] | null }, id: string, version: number | null) {
  const model = useStream(id);
  return useMemo(() => {
    if (version === null || !log.value) return null;
    const last = log.value[log.value.length - 1]?.seq ?? 0;
    const whole = [...log.value, ...model.events.filter((event) => event.seq > last)];
    const seq = lastSeqOf(whole, version);
    return seq === null ? null : modelAt(id, whole, seq);
  }, [log.value, id, version, model]);
}
