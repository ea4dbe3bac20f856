/** What a device tells of itself, as titles and values with units for people. Pure. */
import { known } from "../words/known.ts";
import { bytes } from "../words/words.ts";

interface FactRow {
  key: string;
  title: string;
  value: string;
}

const TITLES: Record<string, string> = {
  arch: "Processor",
  disk_free_bytes: "Free disk",
  home: "Agent's folder",
  hosts: "May ask",
  hostname: "Own name",
  os: "System",
  os_name: "System",
  processors: "Processors",
  program: "Agent's program",
  python: "Python",
  reads: "Reads in",
  sandbox: "Sandbox",
  secure_context: "Safe connection",
  suspending: "Sleeps when it is left",
  tap: "Waits for a tap",
  writes: "Writes in",
};

/** The version and build of the agent have a row of their own; its courtesy and its clock have a sentence above. */
const ELSEWHERE = /^(agent$|build$|clock$|courtesy)/;

const SANDBOXES: Record<string, string> = {
  L0: "none: programs run as its user",
  L1: "limits of time and memory, no cage",
  L2: "a cage: programs see their own folder",
};

/** Rows in the order of their titles; what has no words of its own stands as the device calls it. */
export function factRows(facts: Record<string, string>): FactRow[] {
  const rows = Object.entries(facts)
    .filter(([key]) => !ELSEWHERE.test(key) && !(key === "os" && facts.os_name) && facts[key] !== "")
    .map(([key, value]) => ({ key, title: titleOf(key), value: saidOf(key, value) }));
  return rows.sort((a, b) => a.title.localeCompare(b.title));
}

function titleOf(key: string): string {
  const plain = key.replaceAll("_", " ").replace(/ bytes$/, "");
  return known(TITLES, key) ?? plain.charAt(0).toUpperCase() + plain.slice(1);
}

function saidOf(key: string, value: string): string {
  if (key.endsWith("_bytes") && /^\d+$/.test(value)) return bytes(Number(value));
  if (key === "sandbox") {
    const [level = "", ...way] = value.split("-");
    const words = known(SANDBOXES, level);
    return words ? [words, way.length ? `(${way.join(" ")})` : ""].filter(Boolean).join(" ") : value;
  }
  if (value === "true" || value === "false") return value === "true" ? "yes" : "no";
  return key === "reads" || key === "writes" || key === "hosts" ? value.split("\n").join(", ") : value;
}
