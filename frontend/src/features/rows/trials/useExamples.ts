/** Examples of what tools give, by the schemas that a device of the fleet says for them; each is asked for once. */
import { useEffect, useState } from "react";
import { useWorkspace } from "../../../app/workspace/context.ts";
import { able, type ToolView } from "../../../model/fleet/tools.ts";
import type { Json } from "../../../model/rows/document.ts";
import { exampleOf } from "../../../model/rows/trials/example.ts";

const NONE: ReadonlyMap<string, Json> = new Map();

/** `names`: the tools of the rows. A device that does not answer leaves its tools without an example. */
export function useExamples(names: readonly string[], tools: ReadonlyMap<string, ToolView>): ReadonlyMap<string, Json> {
  const { hub } = useWorkspace();
  const [examples, setExamples] = useState(NONE);
  const missing = names.filter((name) => !examples.has(name));
  const tool = missing.map((name) => tools.get(name)).find((one) => one !== undefined);
  const device = tool && (able(tool)[0] ?? tool.carriers[0])?.id;
  const wanted = tool?.name;

  useEffect(() => {
    if (device === undefined || wanted === undefined) return;
    const gone = new AbortController();
    const keep = (found: readonly { name: string; returns: unknown }[]) => {
      if (gone.signal.aborted) return;
      // A tool that its device does not know any more is not asked for again.
      const told = found.map((one) => [one.name, exampleOf(one.returns)] as const);
      setExamples((held) => new Map([...held, [wanted, null], ...told]));
    };
    hub.device(device, gone.signal).then(
      (found) => keep(found.tools),
      () => keep([]),
    );
    return () => gone.abort();
  }, [hub, device, wanted]);
  return examples;
}
