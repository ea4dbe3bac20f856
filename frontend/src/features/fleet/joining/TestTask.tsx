/** The first task of a new device: looks at itself for a second, and shows what came of it. It runs once, without a press. */

import { useEffect, useRef, useState } from "react";
import { Link } from "wouter";
import { useWorkspace } from "../../../app/workspace/context.ts";
import { asProblem } from "../../../app/workspace/resource.ts";
import type { Problem } from "../../../link/rest.ts";
import type { Created, Device, Offer } from "../../../model/types.ts";
import { bytes } from "../../../model/words/words.ts";
import { ProblemNote } from "../../../ui/parts.tsx";

const WAIT_S = 30;
/** Marks it as a test, which is not offered as a recipe. */
const TEST_LABEL = "test";
/** What is tried, the best first: it looks, or says a word; it asks nobody and changes nothing. */
const TRIED: Trial[] = [
  { tool: "system.info", args: {} },
  { tool: "notify", args: { text: "Hello. This device has joined." } },
];

interface Trial {
  tool: string;
  args: Record<string, unknown>;
}

/** What to try on a device, or null if each of its tools would ask somebody or change something. */
export function trialOf(offer: Offer): Trial | null {
  const able = new Set((offer.tools ?? []).filter((tool) => !tool.unavailable).map((tool) => tool.name));
  return TRIED.find((trial) => able.has(trial.tool)) ?? null;
}

interface TestTaskProps {
  device: Device;
  trial: Trial;
  onDone: (succeeded: boolean) => void;
}

export function TestTask({ device, trial, onDone }: TestTaskProps) {
  const { hub } = useWorkspace();
  const [ended, setEnded] = useState<Created | null>(null);
  const [log, setLog] = useState("");
  const [problem, setProblem] = useState<Problem | null>(null);
  const begun = useRef("");
  const done = useRef(onDone);
  done.current = onDone;
  useEffect(() => {
    if (begun.current === device.id) return;
    begun.current = device.id;
    const plan = {
      starloom: 1,
      name: `Test of ${device.name}`,
      tasks: [{ id: "look", tool: trial.tool, args: trial.args, device: { id: device.id } }],
    };
    const run = async () => {
      const made = await hub.submitAndWait({ plan, labels: { [TEST_LABEL]: "device" } }, WAIT_S);
      setEnded(made);
      done.current(made.state === "succeeded");
      setLog((await hub.log(made.id, "look", 1, {})).text);
    };
    run().catch((error: unknown) => setProblem(asProblem(error)));
  }, [hub, device, trial]);
  if (problem) return <ProblemNote problem={problem} />;
  if (!ended)
    return (
      <p className="small dim">
        Running <code className="mono">{trial.tool}</code> on {device.name}.
      </p>
    );
  const text = log.trim() || facts(ended.answer?.items[0]?.value);
  return (
    <>
      <p className="small">{ended.answer?.sentence ?? `It is ${ended.state}.`}</p>
      {text && <pre className="log testlog">{text}</pre>}
      <Link className="link small" href={`/constellations/${ended.id}`}>
        Open it
      </Link>
    </>
  );
}

/** A result's first plain values, a line each. */
export function facts(value: unknown): string {
  if (typeof value !== "object" || value === null) return "";
  return Object.entries(value)
    .filter(([, item]) => typeof item === "string" || typeof item === "number")
    .slice(0, 6)
    .map(([name, item]) =>
      name.endsWith("_bytes") && typeof item === "number"
        ? `${name.replace(/_bytes$/, "")}: ${bytes(item)}`
        : `${name}: ${item}`,
    )
    .join("\n");
}
