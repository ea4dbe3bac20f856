/** The way through a plan with more rows than a page shows. */
import { Button } from "../../ui/parts.tsx";

export function RowPages(props: { from: number; count: number; most: number; onFrom: (from: number) => void }) {
  const { from, count, most, onFrom } = props;
  if (count <= most) return null;
  return (
    <div className="rowadd">
      <Button why={from === 0 ? "These are the first." : null} onClick={() => onFrom(from - most)}>
        Earlier rows
      </Button>
      <span className="small dim">
        {from + 1} to {Math.min(count, from + most)} of {count}
      </span>
      <Button why={from + most >= count ? "These are the last." : null} onClick={() => onFrom(from + most)}>
        Later rows
      </Button>
    </div>
  );
}
