/** The one screen of a tab that has joined: who I am, what is asked of me, what I may do, what ran. */
import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from "react";
import { onLostFiles } from "../../../../frontend/src/app/actions/transfers.ts";
import { bytes } from "../../../../frontend/src/model/words/words.ts";
import type { Agent } from "../agent/agent.ts";
import { isRemoved } from "../agent/connection.ts";
import { JoinRefused } from "../agent/joining.ts";
import { surroundings } from "../agent/offer.ts";
import { CAPABILITIES, missingIn, type Policy } from "../agent/policy.ts";
import type { View } from "../agent/view.ts";
import type { Opened } from "../boot.ts";
import type { AttemptRow } from "../ledger/ledger.ts";
import type { Capability } from "../tools/interface.ts";
import { TOOLS } from "../tools/registry.ts";
import { Pill, Switch } from "./parts.tsx";
import { QuestionCard } from "./QuestionCard.tsx";
import { Removed } from "./Removed.tsx";

const NOT_ASKED = "Files are taken only where they are asked for: drop them on Choose files.";

export function Device({ opened, agent }: { opened: Opened; agent: Agent }) {
  const view = useSyncExternalStore(agent.subscribe, agent.view);
  const removed = view.link.state === "stopped" && isRemoved(view.link.why) ? view.link.why : null;
  useEffect(() => onLostFiles(document, () => agent.complain(NOT_ASKED)), [agent]);
  const change = async (policy: Policy) => {
    agent.allow(policy);
    try {
      await opened.store.write([{ table: "meta", key: "policy", value: policy }]);
    } catch (error) {
      agent.complain(`the switch holds for this visit only: ${String(error)}`);
    }
  };
  const notices = view.notices.map(({ id, title, text }) => (
    <section key={id} className="card" role="status">
      <h2>{title}</h2>
      <p className="shown">{text}</p>
      <button type="button" className="big" onClick={() => agent.dismiss(id)}>
        Seen
      </button>
    </section>
  ));
  return (
    <main className="device">
      <header>
        <div>
          <h1>{view.name}</h1>
          <p className="dim">
            {removed ? "no longer part" : "part"} of the fleet at {location.host}
          </p>
        </div>
        <LinkPill view={view} />
      </header>
      {removed && <Removed opened={opened} why={removed} />}
      {view.link.state === "stopped" && !removed && (
        <section className="card alert" role="alert">
          <p>{view.link.why.reason}.</p>
          {view.link.why.fix && <p>{view.link.why.fix}</p>}
        </section>
      )}
      {opened.joined !== null && opened.code !== null && !removed && (
        <section className="card">
          <p>
            The address carried a join code, but this device has joined already. To join anew: forget this hub below,
            then scan the code again.
          </p>
        </section>
      )}
      {view.trouble && (
        <section className="card alert" role="alert">
          <p>{view.trouble}</p>
        </section>
      )}
      {removed ? (
        notices
      ) : (
        <>
          <section aria-labelledby="asked">
            <h2 id="asked">Asked of me now</h2>
            <div aria-live="polite">
              {view.questions.map((open) => (
                <QuestionCard key={open.id} open={open} />
              ))}
            </div>
            {view.running.length > 0 && <Running work={view.running} />}
            {view.questions.length === 0 && view.running.length === 0 && <Quiet view={view} />}
          </section>
          {/* News may wait: a question and a way to stop stand above it. */}
          {notices}
          <section aria-labelledby="may">
            <h2 id="may">What others may do here</h2>
            <Capabilities policy={view.policy} onChange={(policy) => void change(policy)} />
            <Notices agent={agent} />
          </section>
          <section aria-labelledby="ran">
            <h2 id="ran">What ran here</h2>
            <History rows={view.recent} />
          </section>
        </>
      )}
      <footer>
        <p>
          {/* Beside this page, which is the device only as long as it is open. */}
          <a className="big" href="/" target="_blank" rel="noreferrer">
            Open Starloom's page
          </a>
        </p>
        <p className="dim">
          Device {opened.identity.device}.{" "}
          {opened.identity.sealed
            ? "Its key was made in this browser and cannot be read out of it."
            : "Its key is in this browser's store; over HTTPS a newer browser would seal it."}
        </p>
        {!removed && <Leave opened={opened} agent={agent} />}
      </footer>
    </main>
  );
}

function LinkPill({ view }: { view: View }) {
  switch (view.link.state) {
    case "online":
      return <Pill tone="teal">Connected</Pill>;
    case "connecting":
      return <Pill tone="blue">Connecting</Pill>;
    case "waiting":
      return <Pill tone="amber">Out of reach</Pill>;
    case "stopped":
      return <Pill tone="vermilion">Stopped</Pill>;
  }
}

/** Outside of the live region of the questions: nobody wants each chunk of a file read out. */
function Running({ work }: { work: View["running"] }) {
  return (
    <ul className="running">
      {work.map(({ at, tool, told, stop }) => (
        <li key={`${at.constellation}/${at.task}/${at.attempt}`} className="card">
          <Pill tone="blue">Running</Pill> {tool} {told.note && <span className="dim">{told.note}</span>}
          {told.totalBytes !== undefined && <Sent done={told.doneBytes ?? 0} total={told.totalBytes} />}
          <button type="button" className="big" aria-label={`Stop ${tool}`} onClick={stop}>
            Stop
          </button>
        </li>
      ))}
    </ul>
  );
}

function Sent({ done, total }: { done: number; total: number }) {
  const part = total > 0 ? done / total : 1;
  return (
    <span className="sent">
      <progress aria-label="Sent to the hub" max={1} value={part} />
      {Math.floor(part * 100)} %{" "}
      <span className="dim">
        {bytes(done)} of {bytes(total)}
      </span>
    </span>
  );
}

function Quiet({ view }: { view: View }) {
  if (view.link.state === "stopped") return <p className="dim">Nothing.</p>;
  if (view.link.state === "waiting")
    return <p className="dim">Nothing can be asked now: {view.link.why.reason}. The page goes on trying.</p>;
  return <p className="dim">Nothing. Leave this page open, and what others ask for appears here.</p>;
}

function Capabilities({ policy, onChange }: { policy: Policy; onChange: (policy: Policy) => void }) {
  const cannot = useMemo(() => missingIn(TOOLS, surroundings()), []);
  return (
    <ul className="capabilities">
      {(Object.keys(CAPABILITIES) as Capability[]).map((capability) => (
        <Switch
          key={capability}
          label={CAPABILITIES[capability].label}
          about={CAPABILITIES[capability].allows}
          cannot={cannot.get(capability) ?? ""}
          on={policy[capability]}
          onChange={(on) => onChange({ ...policy, [capability]: on })}
        />
      ))}
    </ul>
  );
}

/** Notices of the system need a permission that browsers give after a tap only. */
function Notices({ agent }: { agent: Agent }) {
  const [state, setState] = useState(() => surroundings().notifications);
  if (state !== "default") {
    const words = {
      absent: "This browser shows no notices of the system",
      denied: "This browser blocks notices",
      granted: "",
    };
    return words[state] ? <p className="dim">{words[state]}; they appear on this page instead.</p> : null;
  }
  const ask = async () => {
    setState(await Notification.requestPermission());
    agent.offerAgain();
  };
  return (
    <button type="button" className="big" onClick={() => void ask()}>
      Let notices reach me while this page is hidden
    </button>
  );
}

function History({ rows }: { rows: readonly AttemptRow[] }) {
  if (rows.length === 0) return <p className="dim">Nothing yet.</p>;
  return (
    <ol className="history">
      {rows.map((row) => (
        <li key={`${row.at.constellation}/${row.at.task}/${row.at.incarnation}.${row.at.attempt}`}>
          <span className="name">{row.tool || "a task"}</span> <span className="dim">{wordOf(row)}</span>
          <time className="dim" dateTime={new Date(row.changedMs).toISOString()}>
            {new Date(row.changedMs).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" })}
          </time>
        </li>
      ))}
    </ol>
  );
}

function wordOf(row: AttemptRow): string {
  if (row.state !== "finished") return "running";
  if (row.result?.t === "receipt") return "cancelled";
  if (row.result === null) return "over";
  const { outcome, detail } = row.result;
  return outcome === "ok" ? "done" : `${outcome.replace("_", " ")}${detail ? `: ${detail}` : ""}`;
}

/** Forgetting the hub throws the key away, so it is asked for twice. */
function Leave({ opened, agent }: { opened: Opened; agent: Agent }) {
  const [sure, setSure] = useState(false);
  const question = useRef<HTMLDivElement>(null);
  const ask = useRef<HTMLButtonElement>(null);
  const asked = useRef(false);
  // It opens at the end of a long page: nobody would see that something is asked.
  useEffect(() => {
    if (!sure) {
      if (asked.current) ask.current?.focus();
      return;
    }
    asked.current = true;
    question.current?.scrollIntoView({ block: "end" });
    question.current?.focus({ preventScroll: true });
  }, [sure]);
  const [unheard, setUnheard] = useState("");
  const forget = async () => {
    await opened.store.empty();
    location.reload();
  };
  const leave = async () => {
    try {
      await agent.leave();
    } catch (error) {
      if (!(error instanceof JoinRefused)) throw error;
      setUnheard(error.message);
      return;
    }
    await forget();
  };
  if (unheard) {
    return (
      <div className="card" role="alert">
        <p>
          The hub has not heard that this device leaves: {unheard}. It will show the device as offline until somebody
          revokes it there.
        </p>
        <button type="button" className="big danger" onClick={() => void forget()}>
          Forget it all the same
        </button>
        <button type="button" className="big" onClick={() => location.reload()}>
          Stay
        </button>
      </div>
    );
  }
  if (!sure) {
    return (
      <button type="button" className="big" ref={ask} onClick={() => setSure(true)}>
        Forget this hub ...
      </button>
    );
  }
  return (
    <div className="card" ref={question} role="group" aria-label="Forget this hub?" tabIndex={-1}>
      <p>The key of this device is thrown away; it has to join anew. What is asked of it now is given back.</p>
      <button type="button" className="big danger" onClick={() => void leave()}>
        Forget it
      </button>
      <button type="button" className="big" onClick={() => setSure(false)}>
        Stay
      </button>
    </div>
  );
}
