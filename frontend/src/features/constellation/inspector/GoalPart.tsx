/** The steps of a goal with their notes and calls, and the box for a hint to its model. */
import { useState } from "react";
import { useDoing } from "../../../app/actions/Actions.tsx";
import { useWorkspace } from "../../../app/workspace/context.ts";
import type { StreamModel } from "../../../model/stream/stream.ts";
import { goalSeen } from "../../../model/tasks/goals.ts";
import { Button } from "../../../ui/parts.tsx";

interface GoalPartProps {
  model: StreamModel;
  constellation: string;
  task: string;
  onSelect: (task: string) => void;
}

export function GoalPart({ model, constellation, task, onSelect }: GoalPartProps) {
  const seen = goalSeen(model, task);
  if (!seen) return null;
  return (
    <section className="goal" aria-label="Goal">
      <p>{seen.aim}</p>
      <p className="small dim">{seen.spent}</p>
      {seen.unmet && <p className="note tone-vermilion">Not reached: {seen.unmet}</p>}
      <ol className="plainlist" aria-label="Steps">
        {seen.lines.map((line) => (
          <li key={line.key}>
            <b className="strong">{line.mark}</b> {line.note}
            {line.calls.map((call) => (
              <div key={call.task} className="small cut">
                <button type="button" className="link" onClick={() => onSelect(call.task)}>
                  {call.task}
                </button>{" "}
                <code title={call.text}>{call.text}</code>
              </div>
            ))}
          </li>
        ))}
      </ol>
      {seen.open && <Hint constellation={constellation} task={task} />}
    </section>
  );
}

/** One line for the model's next turn. It is data for the model, marked as the person's. */
function Hint({ constellation, task }: { constellation: string; task: string }) {
  const { hub } = useWorkspace();
  const { report, say } = useDoing();
  const [words, setWords] = useState("");
  const [busy, setBusy] = useState(false);
  const give = async () => {
    setBusy(true);
    try {
      await hub.taskControl(constellation, task, "hint", { reason: words.trim() });
      setWords("");
      say("The hint is part of the model's next turn.");
    } catch (error) {
      report(error);
    } finally {
      setBusy(false);
    }
  };
  const lacks = words.trim() ? null : "Write a hint first.";
  return (
    <div className="row">
      <input
        className="input"
        aria-label="Hint"
        maxLength={1000}
        placeholder="A hint for its next step"
        value={words}
        onChange={(event) => setWords(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && !lacks && !busy) void give();
        }}
      />
      <Button disabled={busy} why={lacks} onClick={() => void give()}>
        Give hint
      </Button>
    </div>
  );
}
