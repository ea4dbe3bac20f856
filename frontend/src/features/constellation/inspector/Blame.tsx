/** Who put a task and its dependencies where they are: the versions, their authors and reasons. */

import { useWorkspace } from "../../../app/workspace/context.ts";
import { useResource } from "../../../app/workspace/resource.ts";
import { history } from "../../../link/history.ts";
import type { BlameLine } from "../../../model/types.ts";
import { msOf } from "../../../model/words/times.ts";
import { author, timeOfDay } from "../../../model/words/words.ts";
import { ProblemNote } from "../../../ui/parts.tsx";

export function Blame({ constellation, task, version }: { constellation: string; task: string; version: number }) {
  const { hub } = useWorkspace();
  const found = useResource(`${constellation}/${task}/${version}`, (signal) =>
    history.blame(hub.rest, constellation, task, signal),
  );
  if (found.problem) return <ProblemNote problem={found.problem} />;
  const items = found.value?.items ?? [];
  if (items.length === 0) return null;
  return (
    <section aria-label="Who put it there">
      <h3 className="small strong dim">Who put it there</h3>
      <ul className="blame small">
        {items.map((item) => (
          <li key={item.id}>
            <b className="mono">{item.id}</b>
            {item.added && <Line word="added" line={item.added} />}
            {item.changed.map((line) => (
              <Line key={line.version} word="changed" line={line} />
            ))}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Line({ word, line }: { word: string; line: BlameLine }) {
  return (
    <span className="block">
      {word} in v{line.version} by {author(line.author)}, {timeOfDay(msOf(line.at)).slice(0, 5)}
      {line.reason && <span className="dim">: {line.reason}</span>}
    </span>
  );
}
