/**
 * *What if* of a running constellation, asked at the name of a lane: this device off, or one more like it. Both pictures
 * are drawn by the timeline; here are the menu, the sentence with the difference, and the way back.
 */
import { useCallback, useState } from "react";
import { useWorkspace } from "../../../app/workspace/context.ts";
import { asProblem } from "../../../app/workspace/resource.ts";
import type { Problem } from "../../../link/rest.ts";
import { nameOfDevice } from "../../../model/fleet/fleet.ts";
import { chanceWords } from "../../../model/plan/forecast.ts";
import type { StreamModel } from "../../../model/stream/stream.ts";
import type { RunWhatIf } from "../../../model/types.ts";
import { Menu } from "../../../ui/Menu.tsx";
import { Button, ProblemNote } from "../../../ui/parts.tsx";

const COPY = "-copy";
/** A menu with more is no menu; each lane has one of its own. */
const DEVICES_MOST = 20;

/** The device of which this one is the assumed copy; null for a real one. */
export const copyOf = (device: string): string | null => (device.endsWith(COPY) ? device.slice(0, -COPY.length) : null);

interface Asked {
  at: { x: number; y: number };
  devices: readonly string[];
}

export interface AskedWhatIf {
  found: RunWhatIf | null;
  problem: Problem | null;
  busy: boolean;
  menu: { at: { x: number; y: number }; entries: { label: string; run: () => void }[] } | null;
  open: (at: { x: number; y: number }, devices: readonly string[]) => void;
  close: () => void;
  clear: () => void;
}

export function useWhatIf(id: string, fleet: StreamModel, live: boolean): AskedWhatIf {
  const { hub } = useWorkspace();
  const [asked, setAsked] = useState<Asked | null>(null);
  const [found, setFound] = useState<RunWhatIf | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [busy, setBusy] = useState(false);
  const ask = async (change: "without" | "with_copy_of", device: string) => {
    setBusy(true);
    setProblem(null);
    try {
      setFound(await hub.runWhatIf(id, { [change]: [device] }));
    } catch (error) {
      setFound(null);
      setProblem(asProblem(error));
    } finally {
      setBusy(false);
    }
  };
  const close = useCallback(() => setAsked(null), []);
  const open = useCallback(
    (at: { x: number; y: number }, devices: readonly string[]) =>
      setAsked({ at, devices: devices.slice(0, DEVICES_MOST) }),
    [],
  );
  const entries = (asked?.devices ?? []).flatMap((device) => {
    const name = nameOfDevice(fleet, device);
    return [
      { label: `What if ${name} were off?`, run: () => void ask("without", device) },
      { label: `What if there were one more like ${name}?`, run: () => void ask("with_copy_of", device) },
    ];
  });
  return {
    found: live ? found : null,
    problem,
    busy,
    menu: asked && live ? { at: asked.at, entries } : null,
    open,
    close,
    clear: () => {
      setFound(null);
      setProblem(null);
    },
  };
}

export function WhatIfNote({ whatIf, devices }: { whatIf: AskedWhatIf; devices: readonly string[] }) {
  const { found, problem, busy, menu, open, close, clear } = whatIf;
  const real = devices.filter((device) => copyOf(device) === null);
  const chances = found?.now && found.then ? chanceWords(found) : "";
  return (
    <div className="whatif-run">
      {real.length > 0 && (
        <Button
          asks="anyone"
          kind="quiet"
          aria-busy={busy || undefined}
          onClick={(event) => {
            const box = event.currentTarget.getBoundingClientRect();
            open({ x: box.left, y: box.top }, real);
          }}
        >
          What if
        </Button>
      )}
      {problem && <ProblemNote problem={problem} />}
      {found && (
        <p role="status">
          {found.said} {chances}
        </p>
      )}
      {(found || problem) && <Button icon="close" kind="quiet" aria-label="Back to the run as it is" onClick={clear} />}
      {menu && <Menu label="What if" at={menu.at} entries={menu.entries} onClose={close} />}
    </div>
  );
}
