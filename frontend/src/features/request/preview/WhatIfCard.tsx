/** *What if* of a plan before it starts: how long it should take now, without a device, or with another like it. */
import { type FormEvent, useState } from "react";
import { useWorkspace } from "../../../app/workspace/context.ts";
import { asProblem } from "../../../app/workspace/resource.ts";
import type { Asked } from "../../../link/endpoints.ts";
import type { Problem } from "../../../link/rest.ts";
import { courseWords, type GhostBar, ghostBars } from "../../../model/plan/forecast.ts";
import type { RequestPreview, WhatIf } from "../../../model/types.ts";
import { numberIn } from "../../../model/words/exact.ts";
import { Button, ProblemNote } from "../../../ui/parts.tsx";

type Change = "without" | "with_copy_of";
const CHANGES: [Change, string][] = [
  ["without", "without"],
  ["with_copy_of", "with another like"],
];
const SECONDS_MAX = 30 * 86_400;

/** The devices that the preview gives tasks to, by name. */
const devicesIn = ({ tasks }: RequestPreview): string[] => [
  ...new Set(tasks.flatMap((task) => [...(task.device ? [task.device] : []), ...task.devices])),
];

export function WhatIfCard({ asked, preview }: { asked: Asked; preview: RequestPreview }) {
  const { hub } = useWorkspace();
  const names = devicesIn(preview);
  const [device, setDevice] = useState("");
  const [change, setChange] = useState<Change>("without");
  const [within, setWithin] = useState("");
  const [busy, setBusy] = useState(false);
  const [found, setFound] = useState<WhatIf | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  if (names.length === 0) return null;
  const chosen = names.includes(device) ? device : (names[0] ?? "");
  const { value: seconds, fault } = numberIn(within, { whole: true, least: 1, most: SECONDS_MAX });
  const why = fault && "The deadline is a whole number of seconds, at most 30 days.";
  const ask = async (event: FormEvent) => {
    event.preventDefault();
    if (why || busy) return;
    setBusy(true);
    try {
      setFound(await hub.whatIf({ ...asked, [change]: [chosen], ...(seconds === null ? {} : { within_s: seconds }) }));
      setProblem(null);
    } catch (error) {
      setFound(null);
      setProblem(asProblem(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <details className="card whatif">
      <summary>What if a device were missing, or there were one more</summary>
      <form className="row wrap body" onSubmit={(event) => void ask(event)}>
        <span>How long does it take</span>
        <select
          className="input"
          aria-label="Change"
          value={change}
          onChange={(event) => setChange(event.target.value as Change)}
        >
          {CHANGES.map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
        <select
          className="input"
          aria-label="Device"
          value={chosen}
          onChange={(event) => setDevice(event.target.value)}
        >
          {names.map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
        <label className="row">
          <span className="dim">Deadline in seconds</span>
          <input
            className="input short"
            inputMode="numeric"
            value={within}
            onChange={(event) => setWithin(event.target.value)}
          />
        </label>
        <Button asks="anyone" type="submit" why={why} aria-busy={busy || undefined}>
          Estimate
        </Button>
      </form>
      {problem && <ProblemNote problem={problem} />}
      {found && <Compared found={found} />}
    </details>
  );
}

function Compared({ found }: { found: WhatIf }) {
  const { bars, deadline } = ghostBars([found.now, found.then], found.within_ms);
  const rows = [
    { title: "Now", course: found.now, bar: bars[0] },
    { title: found.change, course: found.then, bar: bars[1] },
  ];
  return (
    <div className="body stack" role="status">
      {rows.map(
        ({ title, course, bar }, at) =>
          course &&
          bar && (
            <div key={title} className="course">
              <b className="strong">{title}</b>
              <span>{courseWords(course, found.within_ms)}</span>
              <Range bar={bar} deadline={deadline} ghost={at > 0} />
            </div>
          ),
      )}
      <p className="dim">{found.said}</p>
    </div>
  );
}

/** The words beside it say the same, so it is hidden from screen readers. */
function Range({ bar, deadline, ghost }: { bar: GhostBar; deadline: number | null; ghost: boolean }) {
  const share = (value: number) => `${(value * 100).toFixed(2)}%`;
  return (
    <span className={`range ${ghost ? "ghost" : ""}`} aria-hidden="true">
      <i style={{ left: share(bar.from), width: share(bar.to - bar.from) }} />
      <b style={{ left: share(bar.at) }} />
      {deadline !== null && <em style={{ left: share(deadline) }} />}
    </span>
  );
}
