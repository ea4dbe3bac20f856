/** Adding a device in visible steps: one line to run, words to compare, then its first offer. Nothing is typed here. */
import { useEffect, useState } from "react";
import { useDoing } from "../app/Actions.tsx";
import { useFleet, useNow, useWorkspace } from "../app/context.ts";
import { asProblem } from "../app/resource.ts";
import { type EnrollmentDocument, msOf } from "../link/endpoints.ts";
import type { Problem } from "../link/rest.ts";
import { devices } from "../model/fleet.ts";
import type { Device, Enrollment, Offer } from "../model/types.ts";
import { clock, plural } from "../model/words.ts";
import { Glyph } from "../ui/Glyph.tsx";
import { Button, CopyLine, ProblemNote, Tabs } from "../ui/parts.tsx";

type Shell = "unix" | "windows";

/** `enrollment` is the id of a pairing that asks already, or `1` for a new one. */
export function AddDevice({ enrollment, onClose }: { enrollment: string; onClose: () => void }) {
  const { hub } = useWorkspace();
  const fleet = useFleet();
  const now = useNow(1000);
  const { report } = useDoing();
  const [made, setMade] = useState<EnrollmentDocument | null>(null);
  const [problem, setProblem] = useState<Problem | null>(null);
  const [turn, setTurn] = useState(0);
  const [shell, setShell] = useState<Shell>(() => (navigator.userAgent.includes("Windows") ? "windows" : "unix"));
  const fresh = enrollment === "1";
  // biome-ignore lint/correctness/useExhaustiveDependencies: `turn` stands for a wish for another line.
  useEffect(() => {
    if (!fresh) return;
    let wanted = true;
    hub.enroll({}).then(
      (document) => wanted && setMade(document),
      (error: unknown) => wanted && setProblem(asProblem(error)),
    );
    return () => {
      wanted = false;
    };
  }, [hub, fresh, turn]);

  const id = fresh ? made?.id : enrollment;
  const record = id ? fleet.one<Enrollment>(`enrollment/${id}`) : undefined;
  const state = record?.state ?? made?.state ?? "open";
  const device = record?.device ? fleet.one<Device>(`device/${record.device}`) : undefined;
  const offer = record?.device ? fleet.one<Offer>(`offer/${record.device}`) : undefined;
  const expires = record?.expires_ms ?? msOf(made?.expires_at);
  const left = expires - now;
  const asking = state === "asking";
  const approved = state === "approved" || state === "used" || Boolean(device);
  const over = !asking && !approved && (state === "denied" || state === "expired" || (expires > 0 && left <= 0));
  const decide = async (allow: boolean) => {
    if (!id) return;
    try {
      await hub.decide(id, allow, "the words were not the same");
    } catch (error) {
      report(error);
    }
  };
  const line = made ? (shell === "windows" ? windowsLine(made) : made.line) : "";
  return (
    <aside className="sheet" aria-label="Add a device">
      <header className="row">
        <h2 className="head grow">Add a device</h2>
        {made && !approved && !over && <span className="small dim">line valid {clock(left)}, once</span>}
        <Button icon="close" kind="quiet" aria-label="Close" onClick={onClose} />
      </header>
      {problem && <ProblemNote problem={problem} />}
      <ol className="steps" aria-live="polite">
        <Step
          number={1}
          title="Run one line on it"
          state={asking || approved ? "done" : "now"}
          note={asking || approved ? "done" : over ? "" : "waiting for the device"}
        >
          {fresh && !asking && !approved && !over && (
            <>
              <Tabs<Shell>
                look="seg"
                label="System"
                value={shell}
                onChange={setShell}
                choices={[
                  { value: "unix", label: "Linux, macOS, WSL" },
                  { value: "windows", label: "Windows" },
                ]}
              />
              {made && <CopyLine line={line} label="the join line" />}
              <p className="small dim">
                It makes its own folder, needs Python 3.11, and asks on the device what it may do. Add --dry-run to see
                what it would do.
              </p>
            </>
          )}
          {over && (
            <>
              <p className="small">
                {record?.reason ||
                  (state === "denied" ? "It was denied." : "The line ran out; it was good for ten minutes.")}
              </p>
              <Button
                icon="retry"
                onClick={() => {
                  setMade(null);
                  setTurn((held) => held + 1);
                }}
              >
                New line
              </Button>
            </>
          )}
        </Step>
        <Step
          number={2}
          title="Compare and approve"
          state={approved ? "done" : asking ? "now" : "ahead"}
          note={asking ? "now" : ""}
        >
          {asking && record && (
            <div className="match">
              <p>
                <b className="strong">{record.name || record.label || "A device"}</b> is asking to join. Does its screen
                show the same?
              </p>
              <p className="words">{record.words}</p>
              <p className="small dim">
                {[record.os, record.profile_most ? `at most ${record.profile_most}` : ""].filter(Boolean).join(", ")}
              </p>
              <div className="row">
                <Button large kind="primary" className="grow" onClick={() => void decide(true)}>
                  Same, approve
                </Button>
                <Button large onClick={() => void decide(false)}>
                  Not the same
                </Button>
              </div>
            </div>
          )}
        </Step>
        <Step
          number={3}
          title="It connects and says what it can do"
          state={offer ? "done" : approved ? "now" : "ahead"}
          note=""
        >
          {offer && (
            <p className="small dim">
              {plural(offer.tools?.length ?? 0, "tool")}, {plural(offer.slots ?? 1, "slot")}, profile{" "}
              {device?.profile ?? "observe"}
            </p>
          )}
          {approved && !offer && <p className="small dim">Approved; waiting for its first connection.</p>}
        </Step>
        <Step number={4} title="Ready" state={offer && device?.link === "online" ? "done" : "ahead"} note="">
          {offer && device?.link === "online" && (
            <p>
              <b className="strong">{device.name}</b> is {devices(fleet).get(device.id)?.tag} in the fleet.{" "}
              <button type="button" className="link" onClick={onClose}>
                Close
              </button>
            </p>
          )}
        </Step>
      </ol>
    </aside>
  );
}

function windowsLine(made: EnrollmentDocument): string {
  return `curl.exe -fsS ${made.url}/agent/join.py -o join.py; python join.py ${made.url} ${made.code}`;
}

interface StepProps {
  number: number;
  title: string;
  state: "done" | "now" | "ahead";
  note: string;
  children?: React.ReactNode;
}

function Step({ number, title, state, note, children }: StepProps) {
  return (
    <li className={state}>
      <span className="ball">{state === "done" ? <Glyph name="tick" tone="teal" /> : number}</span>
      <span className="strong">{title}</span>
      <span className="small dim">{note}</span>
      <div className="stepbody">{children}</div>
    </li>
  );
}
