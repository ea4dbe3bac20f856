/** The owner's model in Settings: what is set, a test, today's use, and exactly what would leave this machine. */

import { useState } from "react";
import { useDoing } from "../../../app/actions/Actions.tsx";
import { useWorkspace } from "../../../app/workspace/context.ts";
import { useResource } from "../../../app/workspace/resource.ts";
import type { ModelState } from "../../../model/types.ts";
import { SHARED } from "../../../model/words/sharing.ts";
import { Button, ProblemNote } from "../../../ui/parts.tsx";
import { ModelForm } from "./ModelForm.tsx";
import { RoleForm } from "./RoleForm.tsx";

export function ModelCard() {
  const { hub } = useWorkspace();
  const { report } = useDoing();
  const model = useResource("model", (signal) => hub.model(signal));
  const [busy, setBusy] = useState(false);
  const [tested, setTested] = useState("");
  const found = model.value;
  const [editing, setEditing] = useState<"" | "model" | "role">("");
  const test = async () => {
    setBusy(true);
    setTested("");
    try {
      const said = await hub.testModel();
      setTested(`It answered in ${said.seconds} s with ${said.tokens} tokens: ${said.reply}`);
    } catch (error) {
      report(error);
    } finally {
      setBusy(false);
    }
  };
  const done = () => {
    setEditing("");
    setTested("");
    model.reload();
  };
  return (
    <section className="card">
      <header>
        <h2>Model</h2>
        {found?.set && <span className="dim">{found.wire}</span>}
      </header>
      {model.problem && <ProblemNote problem={model.problem} />}
      {found && (
        <>
          <div className="item">
            <span />
            <b className="strong cut">{found.set ? `${found.model} at ${found.host}` : "No model"}</b>
            <span className="answers">
              {found.set && (
                <Button asks="access" disabled={busy} onClick={() => void test()}>
                  {busy ? "Asking" : "Test"}
                </Button>
              )}
              {!found.given && !editing && (
                <Button onClick={() => setEditing("model")}>{found.set ? "Change" : "Set a model"}</Button>
              )}
              {!found.given && found.set && !editing && <Button onClick={() => setEditing("role")}>Other roles</Button>}
            </span>
            {found.set && found.fault && (
              <span className="sub strong tone-amber">{`It cannot be asked: ${found.fault.reason}. ${found.fault.hint}`}</span>
            )}
            <span className="sub small">{found.set ? used(found) : missing(found)}</span>
            {found.others?.map(({ role, model, host }) => (
              <span key={role} className="sub small">{`As ${role}: ${model} at ${host}`}</span>
            ))}
          </div>
          {editing === "model" && <ModelForm found={found} onDone={done} />}
          {editing === "role" && <RoleForm found={found} onDone={done} />}
          {tested && (
            <p className="item" role="status">
              <span />
              <span className="sub small">{tested}</span>
            </p>
          )}
          <div className="item">
            <span />
            <details className="wide">
              <summary>What leaves this machine</summary>
              <p className="small">
                {found.set ? `Only to ${hostsOf(found)}, and only` : "Nothing while no model is set. Then only"} for
                words that no recipe fits, with up to five of your earlier requests. A model that looks first gets a
                card of each look. A review gets the plan with its arguments, the messages of tasks and cards of their
                results, and the answer in words is written from such cards. The parts, for an example:
              </p>
              {found.parts.map((part) => (
                <details key={part.title}>
                  <summary>{part.title}</summary>
                  <pre className="mono small">{part.text}</pre>
                </details>
              ))}
            </details>
          </div>
        </>
      )}
    </section>
  );
}

/** Every host that a call may go to, each once. */
export function hostsOf({ host = "", others = [] }: Pick<ModelState, "host" | "others">): string {
  return [...new Set([host, ...others.map((other) => other.host)])].join(", ");
}

function used({ budget, given, key, share, spent_today: spent }: ModelState): string {
  const money = budget?.dollars_per_day === null ? "" : ` of ${budget?.dollars_per_day}`;
  const dollars = spent.dollars || money ? `, ${spent.dollars.toFixed(2)}${money} dollars` : "";
  const tokens = `${spent.tokens} of ${budget?.tokens_per_day} tokens`;
  const whose = given ? " Set by the hub's own settings, which only a change there and a restart alter." : "";
  return `${key ? "With" : "Without"} a key. Today: ${spent.calls} calls, ${tokens}${dollars}. ${SHARED[share ?? "cards"]}.${whose}`;
}

function missing({ fault }: ModelState): string {
  if (fault) return `${fault.reason}. ${fault.hint}`;
  return "Recipes, rows and plans need none. With one, words that no recipe fits become a plan too.";
}
