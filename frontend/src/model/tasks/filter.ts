/** The filter's grammar, the same in the list, the palette and the address: `state:failed device:s1 name:copy dur:>10s words`. */
import { elapsedMs, type TaskView } from "./selectors.ts";

type Fits = (view: TaskView) => boolean;

export function readFilter(text: string, nowMs: number): Fits {
  const tests: Fits[] = [];
  for (const part of text.trim().toLowerCase().split(/\s+/).filter(Boolean)) {
    const cut = part.indexOf(":");
    const [field, value] = cut > 0 ? [part.slice(0, cut), part.slice(cut + 1)] : ["", part];
    if (!value) continue;
    if (field === "state") {
      const words = value.replaceAll("-", " ");
      tests.push((view) => view.shown.word.toLowerCase().startsWith(words) || view.record?.state === value);
    } else if (field === "device") {
      tests.push((view) => view.deviceName.toLowerCase().includes(value) || view.deviceTag.toLowerCase() === value);
    } else if (field === "dur") {
      const match = /^([<>])(\d+)(ms|s|min)?$/.exec(value);
      if (!match) continue;
      const limit = Number(match[2]) * (match[3] === "min" ? 60_000 : match[3] === "ms" ? 1 : 1000);
      tests.push((view) => {
        const ms = elapsedMs(view, nowMs);
        return ms !== null && (match[1] === ">" ? ms > limit : ms < limit);
      });
    } else {
      tests.push((view) => `${view.id} ${view.label} ${view.spec.tool ?? ""}`.toLowerCase().includes(value));
    }
  }
  return (view) => tests.every((test) => test(view));
}
