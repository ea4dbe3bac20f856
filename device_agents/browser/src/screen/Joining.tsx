/** Joining by the code of the address: the words to compare, and every refusal with its way out. */
import { useCallback, useEffect, useRef, useState } from "react";
import { type Joined, JoinRefused, join, nameOf } from "../agent/joining.ts";
import type { Opened } from "../boot.ts";
import { Notice } from "./parts.tsx";

type Stage =
  | { is: "asking" }
  | { is: "words"; words: string }
  | { is: "refused"; why: string; hint: string }
  | { is: "no-code" };

export function Joining({ opened, onJoined }: { opened: Opened; onJoined: (joined: Joined) => Promise<void> }) {
  const [stage, setStage] = useState<Stage>({ is: opened.code === null ? "no-code" : "asking" });
  const [typed, setTyped] = useState("");
  const begun = useRef(false);

  const ask = useCallback(
    async (code: string) => {
      setStage({ is: "asking" });
      const codeRow = (value?: string) => ({ table: "meta", key: "code", value }) as const;
      try {
        await opened.store.write([codeRow(code)]);
        const joined = await join({ code, name: nameOf(navigator.userAgent) }, opened.identity, {
          onWords: (words) => setStage({ is: "words", words }),
          signal: new AbortController().signal,
        });
        await opened.store.write([{ table: "meta", key: "hub", value: joined }, codeRow()]);
        await onJoined(joined);
      } catch (error) {
        await opened.store.write([codeRow()]);
        const hint = error instanceof JoinRefused ? error.hint : "Reload this page and scan the code again.";
        setStage({ is: "refused", why: error instanceof Error ? error.message : String(error), hint });
      }
    },
    [opened, onJoined],
  );

  useEffect(() => {
    if (begun.current || opened.code === null) return;
    begun.current = true;
    void ask(opened.code);
  }, [ask, opened]);

  switch (stage.is) {
    case "asking":
      return <p className="boot">Asking the hub ...</p>;
    case "words":
      return (
        <Notice title="Compare, then approve at the hub">
          <p>The hub's screen shows six words for this device. If they are these, approve it there:</p>
          <p className="sixwords">{stage.words}</p>
          <p className="dim" role="status">
            Waiting for the approval; nothing is to be typed here.
          </p>
        </Notice>
      );
    case "refused":
      return (
        <Notice title="This device was not let in">
          <p role="alert">{stage.why}</p>
          {stage.hint && <p>{stage.hint}</p>}
          <button type="button" className="big" onClick={() => setStage({ is: "no-code" })}>
            Use another code
          </button>
        </Notice>
      );
    case "no-code":
      return (
        <Notice title="Make this device a part of your fleet">
          <p>At the hub, open Fleet, choose Add device, and scan the code with this device's camera.</p>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              if (typed.trim() !== "") void ask(typed.trim());
            }}
          >
            <label htmlFor="code">Or type the code that is shown there</label>
            <input
              id="code"
              value={typed}
              autoComplete="off"
              autoCapitalize="characters"
              spellCheck={false}
              onChange={(event) => setTyped(event.target.value)}
            />
            <button type="submit" className="big primary" disabled={typed.trim() === ""}>
              Ask to join
            </button>
          </form>
        </Notice>
      );
  }
}
