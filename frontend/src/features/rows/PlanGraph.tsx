/** The rows as a drawing: the same placement as a running constellation, one card a row. A click opens the row. */
import { useMemo } from "react";
import type { ToolView } from "../../model/fleet/tools.ts";
import type { Block } from "../../model/layout/blocks.ts";
import { layout, pathOf } from "../../model/layout/layout.ts";
import type { Fields } from "../../model/rows/document.ts";
import type { RowFault } from "../../model/rows/faults.ts";
import { before, gateWords, type Row, rowsOf } from "../../model/rows/row.ts";
import { whereWords } from "../../model/rows/where.ts";
import { drawingSize, rem } from "../../styles/textSize.ts";

const WIDE = 208;
const HIGH = 60;
const ROOM = 16;
const DRAWN_MOST = 250;

interface PlanGraphProps {
  plan: Fields;
  tools: ReadonlyMap<string, ToolView>;
  faults: readonly RowFault[];
  selected: string | null;
  onSelect: (id: string) => void;
}

export function PlanGraph({ plan, tools, faults, selected, onSelect }: PlanGraphProps) {
  const { rows, placed, links } = useMemo(() => drawn(plan), [plan]);
  if (rows.length > DRAWN_MOST)
    return (
      <p className="nothing dim">
        {rows.length} rows are more than are drawn here; the page of the run draws them all.
      </p>
    );
  if (rows.length === 0) return <p className="nothing dim">There is nothing to draw yet: add a row.</p>;
  const size = drawingSize(placed.width + 2 * ROOM, placed.height + 2 * ROOM);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide drawing scrolls, and must do so by keyboard too.
    <div className="plangraph" tabIndex={0} role="region" aria-label="Graph of the plan">
      <div style={{ ...size.style, position: "relative" }}>
        <svg {...size} aria-hidden="true">
          <g transform={`translate(${ROOM} ${ROOM})`}>
            {placed.routes.map((points, at) => (
              <path key={`${links[at]?.from}>${links[at]?.to}`} d={pathOf(points)} className="planlink" />
            ))}
          </g>
        </svg>
        {rows.map((row) => {
          const at = placed.at.get(row.id) ?? { x: 0, y: 0 };
          const wrong = faults.some((fault) => fault.row === row.at && !fault.open);
          const gates = row.gates.map((gate) => `${gate.from} ${gateWords(gate.when)}`).join("; ");
          return (
            <button
              key={`${row.at} ${row.id}`}
              type="button"
              className={`plannode ${wrong ? "faulty" : ""}`}
              aria-pressed={selected === row.id}
              title={gates ? `Starts when ${gates}` : undefined}
              style={{ left: rem(at.x + ROOM), top: rem(at.y + ROOM), width: rem(WIDE), height: rem(HIGH) }}
              onClick={() => onSelect(row.id)}
            >
              <b className="strong cut">
                {row.at + 1}{" "}
                {tools.get(row.what)?.title ?? (row.kind === "person" ? "Ask a person" : row.what || row.id)}
              </b>
              <span className="small dim cut">
                {row.id}, {row.kind === "tool" ? whereWords(row.where) : "a person"}
                {row.each ? ", for each item" : ""}
              </span>
            </button>
          );
        })}
      </div>
    </div>
  );
}

function drawn(plan: Fields) {
  const all = rowsOf(plan);
  const ids = new Set<string>();
  // Two rows of one name would be one card; the list of rows shows that fault.
  const rows = all.filter((row) => !ids.has(row.id) && ids.add(row.id));
  if (rows.length > DRAWN_MOST) return { rows, links: [], placed: layout({ blocks: [], links: [], place: new Map() }) };
  const blocks: Block[] = rows.map((row) => ({
    id: row.id,
    kind: "single",
    tasks: [row.id],
    family: null,
    folded: false,
    width: WIDE,
    height: HIGH,
  }));
  const links = rows.flatMap((row: Row) =>
    before(row)
      .filter((from) => ids.has(from) && from !== row.id)
      .map((from) => ({ from, to: row.id })),
  );
  return { rows, links, placed: layout({ blocks, links, place: new Map(rows.map((row) => [row.id, row.id])) }) };
}
