/** Which of a person's own constellations gets a free slot first: a choice at a submission and while one runs. */

import { useState } from "react";
import { useDoing } from "../../app/actions/Actions.tsx";
import { useWorkspace } from "../../app/workspace/context.ts";
import { useResource } from "../../app/workspace/resource.ts";
import type { Head, Priority } from "../../model/types.ts";
import { PRIORITY_WORDS } from "../../model/types.ts";
import { useWhyNot } from "../../ui/away.tsx";
import { Glyph } from "../../ui/Glyph.tsx";
import { Said } from "../../ui/Said.tsx";

const WORDS: Record<Priority, string> = { high: "High", low: "Low", normal: "Normal" };

interface ChoiceProps {
  value: Priority | null;
  /** What stands for no choice; without it one is always chosen. */
  none?: string;
  why?: string | null;
  busy?: boolean;
  onChange: (value: Priority | null) => void;
}

export function PrioritySelect({ value, none, why, busy, onChange }: ChoiceProps) {
  return (
    <label className="field priority" title={why ?? "High goes before your other constellations, low after them."}>
      <span className="small dim">Priority</span>
      <select
        value={value ?? ""}
        disabled={Boolean(why)}
        aria-busy={busy || undefined}
        onChange={(event) => onChange((event.target.value || null) as Priority | null)}
      >
        {none && <option value="">{none}</option>}
        {[...PRIORITY_WORDS].reverse().map((word) => (
          <option key={word} value={word}>
            {WORDS[word]}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Sets the priority of a constellation that has not ended, as an edit of its plan's policy. */
export function PriorityOf({ constellation }: { constellation: Head }) {
  const { hub } = useWorkspace();
  const { report, say } = useDoing();
  const [busy, setBusy] = useState(false);
  const why = useWhyNot("run");
  const set = async (priority: Priority | null) => {
    if (!priority || busy) return;
    setBusy(true);
    try {
      const policy = { ...constellation.policy, priority };
      const words = `priority ${priority}`;
      await hub.edit(constellation.id, constellation.version ?? 0, [{ set_policy: policy }], words);
      say(`Its priority is ${priority}`);
    } catch (error) {
      report(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <PrioritySelect
      value={constellation.policy?.priority ?? "normal"}
      why={why}
      busy={busy}
      onChange={(value) => void set(value)}
    />
  );
}

/** What goes before a constellation that has ready tasks and none at work: *3 tasks go before it, of X*. */
export function BehindLine({ constellation }: { constellation: string }) {
  const { hub } = useWorkspace();
  const why = useResource(
    `behind/${constellation}`,
    (signal) => hub.whyAll(constellation, signal),
    ["constellations", "tasks"],
    2000,
  );
  const first = why.value?.items.find((item) => item.reason === "busy");
  if (!first) return null;
  return (
    <p className="small row behindline" role="status">
      <Glyph name="ring" tone="indigo" />
      <Said text={first.sentence} />
    </p>
  );
}
