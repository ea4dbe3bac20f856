/** The states in trouble with their counts, for a phone; a press filters the tasks by one. */
import { counts, inTrouble, type TaskView } from "../../../model/tasks/selectors.ts";
import { Glyph } from "../../../ui/Glyph.tsx";
import { shortWord } from "../tasks/Summary.tsx";

export function Troubles({ views, onFilter }: { views: TaskView[]; onFilter: (text: string) => void }) {
  return (
    <>
      {counts(views.filter((view) => inTrouble(view.shown))).map(({ shown: one, count }) => (
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
