/** The owner's model in Settings: what is set, a test, today's use, and exactly what would leave this machine. */
import { useState } from "react";
import { useDoing } from "../app/Actions.tsx";
import { useWorkspace } from "../app/context.ts";
import { useResource } from "../app/resource.ts";
import type { ModelDocument } from "../link/endpoints.ts";
import { Button, ProblemNote } from "../ui/parts.tsx";

export function ModelCard() {
  const { hub } = useWorkspace();
  const { report } = useDoing();
  const model = useResource("model", (signal) => hub.model(signal));
  const [busy, setBusy] = useState(false);
  const [tested, setTested] = useState("");
  const found = model.value;
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
            <b className="strong cut">{found.set ? `${found.model} at ${found.host}` : "None"}</b>
            {found.set ? (
              <Button disabled={busy} onClick={() => void test()}>
                {busy ? "Asking" : "Test"}
              </Button>
            ) : (
              <span />
            )}
            <span className="sub small">{found.set ? used(found) : missing(found)}</span>
          </div>
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
                {found.set ? `Only to ${found.host}, and only` : "Nothing while no model is set. Then only"} for words
                that no recipe fits. A review also tells what tasks said when they ended. The parts, for an example:
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

function used({ budget, key, spent_today: spent }: ModelDocument): string {
  const money = budget?.dollars_per_day === null ? "" : ` of ${budget?.dollars_per_day}`;
  const dollars = spent.dollars || money ? `, ${spent.dollars.toFixed(2)}${money} dollars` : "";
  const tokens = `${spent.tokens} of ${budget?.tokens_per_day} tokens`;
  return `${key ? "With" : "Without"} a key. Today: ${spent.calls} calls, ${tokens}${dollars}.`;
}

function missing({ fault }: ModelDocument): string {
  if (fault) return `${fault.reason}. ${fault.hint}`;
  return "Set STARLOOM_LLM_URL, STARLOOM_LLM_MODEL and STARLOOM_LLM_KEY_FILE, and start the hub again.";
}
