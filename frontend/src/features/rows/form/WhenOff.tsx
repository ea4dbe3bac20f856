/** A row on every device: whether one that is off is waited for, or told in the answer after a while. */
import { type Fields, isFields } from "../../../model/rows/document.ts";
import { withWhenOff } from "../../../model/rows/edit.ts";
import type { Row } from "../../../model/rows/row.ts";

/** What the plan language takes where nothing is said. */
const OFF_AFTER_S = 10;
const OFF_AFTER_MOST_S = 30 * 24 * 3600;

interface WhenOffProps {
  row: Row;
  task: Fields;
  locked: boolean;
  onChange: (edit: (task: Fields) => Fields, about?: string) => void;
}

export function WhenOff({ row, task, locked, onChange }: WhenOffProps) {
  const each = isFields(task.for_each) ? task.for_each : null;
  if (row.kind !== "tool" || !each || !("devices" in each)) return null;
  const told = each.when_off === "report";
  const after = typeof each.after_s === "number" ? each.after_s : OFF_AFTER_S;
  return (
    <div className="rowfield">
      <span className="small dim">a device that is off</span>
      <span className="row wrap tight">
        <select
          className="input short"
          aria-label="A device that is off"
          disabled={locked}
          value={told ? "report" : "wait"}
          onChange={(event) => onChange((held) => withWhenOff(held, event.target.value === "report" ? after : null))}
        >
          <option value="wait">is waited for</option>
          <option value="report">is named in the answer</option>
        </select>
        {told && (
          <label className="row tight small dim">
            after
            <input
              className="input tiny num"
              type="number"
              min={0}
              max={OFF_AFTER_MOST_S}
              disabled={locked}
              value={after}
              onChange={(event) =>
                onChange((held) => withWhenOff(held, clamped(event.target.valueAsNumber)), `${row.id} when off`)
              }
            />
            seconds
          </label>
        )}
      </span>
    </div>
  );
}

const clamped = (seconds: number): number =>
  Number.isFinite(seconds) ? Math.min(OFF_AFTER_MOST_S, Math.max(0, Math.round(seconds))) : 0;
