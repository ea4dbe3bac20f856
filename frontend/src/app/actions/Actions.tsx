/** Buttons of actions: a blocked one says why, work that must not be repeated asks by name, errors stay in sight. */
import { createContext, type ReactNode, useCallback, useContext, useEffect, useState } from "react";
import { useLocation } from "wouter";
import { Problem } from "../../link/rest.ts";
import { AWAY, AwayContext, RightsContext, UNKNOWN, useWhyNot, whyNotBy } from "../../ui/away.tsx";
import type { IconName } from "../../ui/Icon.tsx";
import { Modal } from "../../ui/Modal.tsx";
import { Button, ProblemNote } from "../../ui/parts.tsx";
import { useLink, useWorkspace } from "../workspace/context.ts";
import { asProblem } from "../workspace/resource.ts";
import type { Action } from "./actions.ts";
import { onLostFiles } from "./transfers.ts";

const ICONS: Record<string, IconName> = {
  pause: "pause",
  resume: "play",
  cancel: "stop",
  retry: "retry",
  "retry-from": "retry",
  skip: "skip",
  undo: "undo",
  holds: "check",
  "mark-done": "check",
  "mark-failed": "close",
};

/** Of an address, what names the page: `/constellations/ID`, whatever of it is selected. */
const PAGE_PARTS = 3;

/** Answers files that are dropped on the page: work takes them from the devices that have them. */
const DROPPED = new Problem(415, {
  code: "not_found",
  title: "Files are not taken here",
  reason: "This page takes no files that are dropped on it.",
  hint: "Say on which device and in which folder they are. A phone, or a browser that has joined, sends what is picked in it.",
});

interface Doing {
  /** Runs an action; asks first where the action or the hub wants it; resolves when it is over. */
  perform: (action: Action) => Promise<void>;
  /** Shows a problem until the person closes it, goes to another page, or its cause is over. */
  report: (error: unknown) => void;
  say: (text: string) => void;
}

const DoingContext = createContext<Doing | null>(null);

export function useDoing(): Doing {
  const doing = useContext(DoingContext);
  if (!doing) throw new Error("an action was offered outside of its provider");
  return doing;
}

interface Question {
  action: Action;
  /** Work that may not be repeated and would run again; empty for a plain question. */
  names: string[];
}

export function DoingProvider({ children }: { children: ReactNode }) {
  const [problem, setProblem] = useState<Problem | null>(null);
  const [question, setQuestion] = useState<Question | null>(null);
  const [said, setSaid] = useState("");

  const report = useCallback((error: unknown) => setProblem(asProblem(error)), []);
  useEffect(() => onLostFiles(document, () => report(DROPPED)), [report]);
  const say = useCallback((text: string) => {
    setSaid(text);
    setTimeout(() => setSaid((held) => (held === text ? "" : held)), 4000);
  }, []);
  const run = useCallback(
    async (action: Action, confirm?: string[]) => {
      try {
        await action.run(confirm);
        setProblem(null);
        if (action.said) say(action.said);
      } catch (error) {
        const repeats = error instanceof Problem ? error.more.repeats : null;
        if (Array.isArray(repeats) && !confirm) {
          setQuestion({ action, names: repeats.map(String) });
          return;
        }
        report(error);
      }
    },
    [report, say],
  );
  const link = useLink().state;
  const away = link === "offline" ? AWAY : null;
  const rights = useWorkspace().session ?? UNKNOWN;
  // The message that the hub cannot be reached goes when the hub is back.
  useEffect(() => {
    if (link === "live") setProblem((held) => (held?.code === "hub_unreachable" ? null : held));
  }, [link]);
  const page = useLocation()[0].split("/").slice(0, PAGE_PARTS).join("/");
  // biome-ignore lint/correctness/useExhaustiveDependencies: the message ends with its page.
  useEffect(() => setProblem(null), [page]);
  const perform = useCallback(
    async (action: Action) => {
      const why = action.why ?? away ?? whyNotBy(rights, action.by ?? "run");
      if (why) say(why);
      else if (action.danger || action.asks) setQuestion({ action, names: [] });
      else await run(action);
    },
    [run, say, away, rights],
  );

  return (
    <DoingContext value={{ perform, report, say }}>
      <AwayContext value={away}>
        <RightsContext value={rights}>{children}</RightsContext>
      </AwayContext>
      {question && (
        <Modal label={question.action.label} className="asking" onClose={() => setQuestion(null)}>
          <h2 className="head">{question.action.label}?</h2>
          {question.names.length > 0 ? (
            <>
              <p>This work may not be safe to run twice and would run again:</p>
              <ul className="mono">
                {question.names.map((name) => (
                  <li key={name}>{name}</li>
                ))}
              </ul>
            </>
          ) : (
            <p className="dim">
              {question.action.asks ??
                "Running work is stopped on its device; it counts as stopped when the device confirms."}
            </p>
          )}
          <div className="row">
            <Button large onClick={() => setQuestion(null)}>
              Keep as it is
            </Button>
            <Button
              large
              kind="bad"
              onClick={() => {
                setQuestion(null);
                void run(question.action, question.names.length ? question.names : undefined);
              }}
            >
              {question.names.length
                ? `Run ${question.names.length === 1 ? question.names[0] : `${question.names.length} tasks`} again`
                : (question.action.deed ?? question.action.label)}
            </Button>
          </div>
        </Modal>
      )}
      <div className="toasts">
        {problem && (
          <div className="toast">
            <ProblemNote problem={problem} />
            <Button icon="close" kind="quiet" aria-label="Close the message" onClick={() => setProblem(null)} />
          </div>
        )}
        <div role="status">{said && <p className="toast saying">{said}</p>}</div>
      </div>
    </DoingContext>
  );
}

export function ActionButton({ action: offered, shortcut }: { action: Action; shortcut?: string }) {
  const whyNot = useWhyNot(offered.by ?? "run");
  const action = { ...offered, why: offered.why ?? whyNot };
  const { perform } = useDoing();
  const [busy, setBusy] = useState(false);
  return (
    <Button
      icon={ICONS[action.id]}
      kind={action.danger ? "bad" : undefined}
      why={action.why}
      aria-busy={busy || undefined}
      onClick={async () => {
        if (busy) return;
        setBusy(true);
        await perform(action);
        setBusy(false);
      }}
    >
      {action.label}
      {shortcut && !action.why && (
        <kbd className="only-wide" aria-hidden="true">
          {shortcut}
        </kbd>
      )}
    </Button>
  );
}
