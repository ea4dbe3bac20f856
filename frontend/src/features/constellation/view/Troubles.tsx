/** The states in trouble with their counts, for a phone; a press filters the tasks by one. */
import { inTrouble } from "../../../model/tasks/selectors.ts";
import type { Tally } from "../../../model/tasks/tally.ts";
import { Glyph } from "../../../ui/Glyph.tsx";
import { shortWord } from "../tasks/Summary.tsx";

export function Troubles({ tally, onFilter }: { tally: Tally; onFilter: (text: string) => void }) {
  return (
    <>
      {tally.counts(inTrouble).map(({ shown: one, count }) => (
        <button
          key={one.glyph}
          type="button"
          className={`pill tone-${one.tone}`}
          onClick={() => onFilter(`state:${shortWord(one.word).replaceAll(" ", "-")}`)}
        >
          <Glyph name={one.glyph} />
          {count}
          <span className="sr">{one.word}</span>
        </button>
      ))}
    </>
  );
}
