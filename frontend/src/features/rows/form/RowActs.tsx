/** The acts of an open row: try it, move it, copy it, remove it. */
import type { Row } from "../../../model/rows/row.ts";
import { Button } from "../../../ui/parts.tsx";

interface RowActsProps {
  row: Row;
  last: boolean;
  tried: boolean;
  /** The row that is being tried now. */
  trying: string | null;
  /** Why this row cannot be tried; empty when it can. */
  whyNot: string;
  locked: boolean;
  onTry: (id: string) => void;
  onMove: (by: 1 | -1) => void;
  onCopy: () => void;
  onRemove: () => void;
}

export function RowActs(props: RowActsProps) {
  const { row, last, tried, trying, whyNot, locked, onTry, onMove, onCopy, onRemove } = props;
  return (
    <div className="rowacts row wrap">
      <Button
        asks="run"
        icon="play"
        why={trying ? "A row is being tried." : whyNot || null}
        onClick={() => onTry(row.id)}
      >
        {tried ? "Try this row again" : "Try this row"}
      </Button>
      {whyNot && <span className="small dim why">{whyNot}</span>}
      <span className="grow" />
      {!locked && (
        <>
          <Button kind="quiet" why={row.at === 0 ? "It is the first." : null} onClick={() => onMove(-1)}>
            Up
          </Button>
          <Button kind="quiet" why={last ? "It is the last." : null} onClick={() => onMove(1)}>
            Down
          </Button>
          <Button kind="quiet" icon="copy" onClick={onCopy}>
            Copy
          </Button>
          <Button kind="bad" onClick={onRemove}>
            Remove
          </Button>
        </>
      )}
    </div>
  );
}
