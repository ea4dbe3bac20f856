/** Examples of what tools give, made from the schemas of their results; read once for a schema, as a device offers it. */
import { useEffect, useMemo, useState } from "react";
import { useWorkspace } from "../../../app/workspace/context.ts";
import type { ToolView } from "../../../model/fleet/tools.ts";
import type { Json } from "../../../model/rows/document.ts";
import { exampleOf, exampleOfText } from "../../../model/rows/trials/example.ts";

/** By what an offer says of a result: the name of a schema, which holds for one version of it, or its text. */
const made = new Map<string, Json | undefined>();
const MADE_MOST = 400;

/** The examples of these tools, by tool; a tool whose result is not known has none. */
export function useExamples(names: readonly string[], tools: ReadonlyMap<string, ToolView>): ReadonlyMap<string, Json> {
  const { hub } = useWorkspace();
  const [turn, setTurn] = useState(0);
  const asked = [...new Set(names)].sort().join(" ");
  const wanted = asked.split(" ").flatMap((name) => tools.get(name) ?? []);
  const stamp = wanted.map((tool) => `${tool.name} ${tool.returns.from} ${tool.returns.schema}`).join("\n");

  // biome-ignore lint/correctness/useExhaustiveDependencies: the stamp says which schemas are wanted.
  useEffect(() => {
    const abort = new AbortController();
    const lacking = wanted.filter((tool) => tool.returns.schema && !made.has(tool.returns.schema));
    const read = async (device: string) => {
      const { tools: rows } = await hub.device(device, abort.signal);
      const schemas = new Map(rows.map((row) => [row.name, row.returns as Json]));
      for (const tool of lacking.filter((one) => one.returns.from === device))
        keep(tool.returns.schema, exampleOf(schemas.get(tool.name) ?? null));
    };
    const texts = lacking.filter((tool) => tool.returns.schema.startsWith("{"));
    for (const tool of texts) keep(tool.returns.schema, exampleOfText(tool.returns.schema));
    const named = lacking.filter((tool) => !texts.includes(tool));
    const devices = [...new Set(named.map((tool) => tool.returns.from))];
    // Without an example the row can still be tried, so a device that cannot be read is no fault of the page.
    if (lacking.length)
      void Promise.allSettled(devices.map(read)).then(() => abort.signal.aborted || setTurn((held) => held + 1));
    return () => abort.abort();
  }, [hub, stamp]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the turn says that examples were made.
  return useMemo(
    () =>
      new Map(
        wanted.flatMap((tool) => {
          const example = made.get(tool.returns.schema);
          return example === undefined ? [] : [[tool.name, example] as const];
        }),
      ),
    [stamp, turn],
  );
}

function keep(schema: string, example: Json | undefined): void {
  if (made.size > MADE_MOST) made.clear();
  made.set(schema, example);
}
