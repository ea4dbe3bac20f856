/** The steps of a goal: note, cost, calls and what came back, each in one line; and the box for a hint to its model. */
import { useState } from "react";
import { useDoing } from "../../../app/actions/Actions.tsx";
import { useWorkspace } from "../../../app/workspace/context.ts";
import { useKeptText } from "../../../app/workspace/drafts.ts";
import type { StreamModel } from "../../../model/stream/stream.ts";
import { type GoalCall, goalSeen } from "../../../model/tasks/goals.ts";
import { type TaskView, taskView } from "../../../model/tasks/selectors.ts";
import { Icon } from "../../../ui/Icon.tsx";
import { Button } from "../../../ui/parts.tsx";
import { pressedKey } from "../../../ui/pressedKey.ts";
import { ResultTab } from "./InspectorTabs.tsx";

interface GoalPartProps {
  model: StreamModel;
  fleet: StreamModel;
  constellation: string;
  task: string;
  onSelect: (task: string) => void;
}

/** Which results are open: all or none, and the calls for which a person chose otherwise. */
interface Opened {
  all: boolean;
  but: ReadonlySet<string>;
}

export function GoalPart({ model, fleet, constellation, task, onSelect }: GoalPartProps) {
  const [opened, setOpened] = useState<Opened>({ all: false, but: new Set() });
  const seen = goalSeen(model, fleet, task);
  if (!seen) return null;
  const isOpen = (call: string) => opened.all !== opened.but.has(call);
  const turn = (call: string) => {
    const but = new Set(opened.but);
    if (!but.delete(call)) but.add(call);
    setOpened({ ...opened, but });
  };
  const all = seen.lines.flatMap((line) => line.calls);
  const whole = all.length > 0 && all.every((call) => isOpen(call.task));
  return (
    <section className="goal" aria-label="Goal">
      <p>{seen.aim}</p>
      <p className="small dim">{seen.spent}</p>
      {seen.unmet && <p className="note tone-vermilion">Not reached: {seen.unmet}</p>}
      {all.length > 0 && (
        <Button kind="quiet" aria-expanded={whole} onClick={() => setOpened({ all: !whole, but: new Set() })}>
          {whole ? "Close all results" : "Open all results"}
        </Button>
      )}
      <ol className="plainlist" aria-label="Steps">
        {seen.lines.map((line) => (
          <li key={line.key}>
            <b className="strong">{line.mark}</b> {line.note}
            {line.cost && <span className="small dim nowrap"> {line.cost}</span>}
            {line.calls.map((call) => (
              <Call
                key={call.task}
                {...{ call, onSelect }}
                view={isOpen(call.task) ? taskView(model, fleet, call.task) : undefined}
                onTurn={() => turn(call.task)}
              />
            ))}
          </li>
        ))}
      </ol>
      {seen.open && <Hint constellation={constellation} task={task} />}
    </section>
  );
}

interface CallProps {
  call: GoalCall;
  /** The task of the call where its result is open. */
  view: TaskView | undefined;
  onTurn: () => void;
  onSelect: (task: string) => void;
}

/** A call in one line, and in a second one the head of what came back, which opens to the whole. */
function Call({ call, view, onTurn, onSelect }: CallProps) {
  return (
    <>
      <div className="small cut">
        <button type="button" className="link" onClick={() => onSelect(call.task)}>
          {call.task}
        </button>{" "}
        <code title={call.text}>{call.text}</code>
      </div>
      <button type="button" className="row tight small cardline" aria-expanded={Boolean(view)} onClick={onTurn}>
        <Icon name={view ? "down" : "right"} />
        <code className="cut">{call.card}</code>
      </button>
      {view && <ResultTab view={view} />}
    </>
  );
}

/** One line for the model's next turn. It is data for the model, marked as the person's. */
function Hint({ constellation, task }: { constellation: string; task: string }) {
  const { hub } = useWorkspace();
  const { report, say } = useDoing();
  const [words, setWords] = useKeptText(`${constellation}.${task}.hint`);
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
          if (pressedKey(event) === "Enter" && !lacks && !busy) void give();
        }}
      />
      <Button asks="run" disabled={busy} why={lacks} onClick={() => void give()}>
        Give hint
      </Button>
    </div>
  );
}
