/** A task that did not succeed counts as done by another one that a person names: one edit, refused whole or applied. */
import { useState } from "react";
import { useDoing } from "../../../app/actions/Actions.tsx";
import { useWorkspace } from "../../../app/workspace/context.ts";
import type { StreamModel } from "../../../model/stream/stream.ts";
import { mayCountAsDone, successorsOf } from "../../../model/tasks/successors.ts";
import type { Head, TaskSpec } from "../../../model/types.ts";
import { FINAL } from "../../../model/words/words.ts";
import { Button } from "../../../ui/parts.tsx";

interface Props {
  model: StreamModel;
  head: Head;
  spec: TaskSpec;
  state: string | undefined;
}

export function CountsAs({ model, head, spec, state }: Props) {
  const { hub } = useWorkspace();
  const { say, report } = useDoing();
  const [chosen, setChosen] = useState("");
  const [sending, setSending] = useState(false);
  if (FINAL.has(head.state) || !mayCountAsDone(spec, state)) return null;
  const choices = successorsOf(model, spec);
  const apply = async (by: string | null) => {
    setSending(true);
    try {
      const operation = { supersede: { task: spec.id, by } };
      const reason = by ? `${by} did the work of ${spec.id}` : `${spec.id} has no successor any more`;
      const made = await hub.edit(head.id, head.version ?? 0, [operation], reason);
      say(`Version ${made.version} is applied`);
    } catch (error) {
      report(error);
    } finally {
      setSending(false);
    }
  };
  if (spec.superseded_by)
    return (
      <p className="row wrap small">
        <span>Counts as done by {spec.superseded_by}.</span>
        <Button asks="run" kind="quiet" why={sending ? "It is being applied." : null} onClick={() => void apply(null)}>
          Take that back
        </Button>
      </p>
    );
  if (choices.length === 0) return null;
  return (
    <p className="row wrap">
      <label className="row tight">
        <span className="small dim">Counts as done by</span>
        <select className="input short" value={chosen} onChange={(event) => setChosen(event.target.value)}>
          <option value="">choose a task</option>
          {choices.map((id) => (
            <option key={id} value={id}>
              {id}
            </option>
          ))}
        </select>
      </label>
      <Button
        asks="run"
        why={chosen === "" ? "Choose the task that did its work." : sending ? "It is being applied." : null}
        onClick={() => void apply(chosen)}
      >
        Apply
      </Button>
    </p>
  );
}
