/** Which screen it is: opening, another tab has it, joining, or the device. */
import { useCallback, useEffect, useRef, useState } from "react";
import type { Agent } from "../agent/agent.ts";
import { codeIn, type Joined } from "../agent/joining.ts";
import { agentOf, type Opened, open, takeCode, watchPage } from "../boot.ts";
import { every } from "../shell/clock.ts";
import { takeLock } from "../shell/lock.ts";
import { Device } from "./Device.tsx";
import { Joining } from "./Joining.tsx";
import { Notice } from "./parts.tsx";

type Stage =
  | { is: "opening" }
  | { is: "elsewhere" }
  | { is: "lost" }
  | { is: "broken"; why: string }
  | { is: "joining"; opened: Opened }
  | { is: "device"; opened: Opened; agent: Agent };

/** How often a tab that is not the device sees whether it may be. */
const FREE_EVERY_S = 3;

export function Page() {
  const [stage, setStage] = useState<Stage>({ is: "opening" });
  const begun = useRef(false);

  const serve = useCallback(async (opened: Opened, joined: Joined) => {
    const agent = await agentOf(opened, joined, opened.policy);
    const unwatch = watchPage(agent);
    opened.hold.onLost = () => {
      unwatch();
      agent.halt();
      opened.store.close();
      setStage({ is: "lost" });
    };
    void agent.run();
    setStage({ is: "device", opened, agent });
  }, []);

  const start = useCallback(
    async (steal: boolean) => {
      try {
        const opened = await open(steal);
        if (opened === null) setStage({ is: "elsewhere" });
        else if (opened.joined !== null) await serve(opened, opened.joined);
        else setStage({ is: "joining", opened });
      } catch (error) {
        setStage({ is: "broken", why: error instanceof Error ? error.message : String(error) });
      }
    },
    [serve],
  );

  useEffect(() => {
    // React's strict mode runs effects twice; the lock is taken once.
    if (begun.current) return;
    begun.current = true;
    void start(false);
  }, [start]);

  // The tab that was the device may have been closed: the one that is looked at goes on then, unasked.
  const stands = stage.is === "lost" || stage.is === "elsewhere";
  useEffect(() => {
    if (!stands) return;
    return every(FREE_EVERY_S, async () => {
      if (!document.hidden && (await takeLock()) !== null) location.reload();
    });
  }, [stands]);

  // A code that is scanned or pasted into this very tab changes only the part after the #.
  useEffect(() => {
    const hear = () => {
      if (codeIn(location.hash) === null) return;
      if (stage.is !== "device") {
        location.reload();
        return;
      }
      // A reload would end what runs here; the page says what the code is good for.
      setStage({ ...stage, opened: { ...stage.opened, code: takeCode() } });
    };
    addEventListener("hashchange", hear);
    return () => removeEventListener("hashchange", hear);
  }, [stage]);

  switch (stage.is) {
    case "opening":
      return <p className="boot">Opening ...</p>;
    case "elsewhere":
      return (
        <Notice title="This device is open in another tab">
          <p>One tab at a time is the device, so that nothing is done twice. Go on in that tab, or use this one.</p>
          <button type="button" className="big primary" onClick={() => void start(true)}>
            Use this tab instead
          </button>
        </Notice>
      );
    case "lost":
      return (
        <Notice title="Another tab is the device now">
          <p>What waited here goes on there. You can close this tab; if you close that one, this one goes on.</p>
          <button type="button" className="big" onClick={() => location.reload()}>
            Come back to this tab
          </button>
        </Notice>
      );
    case "broken":
      return (
        <Notice title="This browser cannot be a device">
          <p>{stage.why}.</p>
          <p>
            The key and open work are kept in the browser's own store. Open this page in an ordinary window, not a
            private one, and allow it to keep data.
          </p>
        </Notice>
      );
    case "joining":
      return (
        <Joining opened={stage.opened} onJoined={(joined) => serve({ ...stage.opened, joined, code: null }, joined)} />
      );
    case "device":
      return <Device opened={stage.opened} agent={stage.agent} />;
  }
}
