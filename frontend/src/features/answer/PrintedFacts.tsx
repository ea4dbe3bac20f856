/** The facts on paper that the frame of the page says on a screen: state, times, devices, the request. */
import type { Head } from "../../model/types.ts";
import { constellationShown, FINAL } from "../../model/words/words.ts";

const at = (ms: number | undefined): string =>
  ms ? new Date(ms).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" }) : "";

export function PrintedFacts({ of, devices }: { of: Head; devices: readonly string[] }) {
  const facts: [string, string][] = [
    ["Asked for", of.request && of.request !== of.name ? of.request : ""],
    ["State", constellationShown(of.state).word],
    ["Started", at(of.created_ms)],
    ["Opened again", at(of.reopened_ms)],
    ["Ended", FINAL.has(of.state) ? at(of.ended_ms ?? undefined) : ""],
    ["Devices", devices.join(", ")],
    ["Printed", at(Date.now())],
  ];
  return (
    <dl className="fields printedfacts">
      {facts
        .filter(([, text]) => text)
        .map(([name, text]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{text}</dd>
          </div>
        ))}
    </dl>
  );
}
