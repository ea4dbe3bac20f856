/** The log of a constellation, read once behind its live model: the feed's past and the ground of its versions. */
import { useEffect, useMemo } from "react";
import { lastSeqOf, modelAt } from "../model/history.ts";
import type { StreamEvent } from "../model/types.ts";
import { useStream, useWorkspace } from "./context.ts";
import { useResource } from "./resource.ts";

const PAST_EVENTS = 400;

/** The whole log, in the background once the model is ready; the model's feed begins with its end. */
export function useLog(id: string, ready: boolean) {
  const { hub } = useWorkspace();
  const model = useStream(id);
  const log = useResource<StreamEvent[]>(ready ? `log ${id}` : null, (signal) => hub.events(id, 0, signal));
  useEffect(() => {
    if (log.value) model.readPast(log.value.slice(-PAST_EVENTS));
  }, [log.value, model]);
  return log;
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
