/**
 * The names of files that are laid out in one folder for a program, as the Python agents choose them: a name that one
 * file has alone is kept; where several have it, each gets its origin before it.
 */
import { ToolFailed } from "./interface.ts";

const SHOWN_MOST = 3;

interface Origin {
  artifact: string;
  below: string;
  device: string;
  name: string;
  path: string;
}

/** Returns the name of each file, in order; throws `bad_arguments` where two would stay equal. */
export function namesOf(files: readonly Origin[], reserved: ReadonlySet<string>): string[] {
  const plain = files.map((file) => lastOf(file.name || lastOf(file.path) || file.artifact.slice(0, 12)));
  const used = new Set([...reserved].map(folded));
  for (const name of plain) {
    if (used.has(folded(name)) || name === "" || name === ".." || name.startsWith(".")) {
      throw new ToolFailed("bad_arguments", `a file may not be named ${JSON.stringify(name)} here`);
    }
  }
  let names = toldApart(plain, (index, name) => [files[index]?.device, name]);
  names = toldApart(names, (index) => {
    const file = files[index];
    const folders = (file?.below || file?.path || "").split("/").slice(0, -1);
    return [file?.device, ...folders.filter((part) => part !== "" && part !== "." && part !== ".."), plain[index]];
  });
  const twice = [...counted(names)].filter(([, count]) => count > 1).map(([name]) => name);
  if (twice.length > 0) {
    throw new ToolFailed(
      "bad_arguments",
      `several files are called ${twice.slice(0, SHOWN_MOST).join(", ")}, and nothing says where each is from: ` +
        "one would lie over the other. Give artifact.put of each device `device_name: {each: /name}`, or other names",
    );
  }
  return names;
}

function lastOf(path: string): string {
  return path.split("/").pop() ?? "";
}

function toldApart(names: string[], longer: (index: number, name: string) => (string | undefined)[]): string[] {
  const count = counted(names);
  return names.map((name, index) =>
    (count.get(folded(name)) ?? 0) > 1 ? longer(index, name).filter(Boolean).join(" - ") : name,
  );
}

function counted(names: readonly string[]): Map<string, number> {
  const count = new Map<string, number>();
  for (const name of names.map(folded)) count.set(name, (count.get(name) ?? 0) + 1);
  return count;
}

/** Returns a text that is alike for names that are one on a disk without letter cases, or of one form of accents. */
function folded(name: string): string {
  return name.normalize("NFC").toUpperCase().toLowerCase().normalize("NFC");
}
