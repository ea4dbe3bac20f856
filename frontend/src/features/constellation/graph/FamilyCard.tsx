/**
 * A family as a matrix: a row an item, a column a member. The open column has cards, the others a pip a row,
 * joined by a thread: solid where it happened, dotted where it lies ahead.
 */
import { memo, useSyncExternalStore } from "react";
import { useGroup, useTask } from "../../../app/workspace/context.ts";
import { devices } from "../../../model/fleet/fleet.ts";
import {
  type Block,
  FAMILY_HEAD,
  type Family,
  FOLDED_PITCH,
  FOLDED_TOP,
  isDense,
  type Member,
  OPEN_WIDTH,
  ROW_PITCH,
  SHUT_WIDTH,
} from "../../../model/layout/blocks.ts";
import { boardOf } from "../../../model/tasks/board.ts";
import { groupTally } from "../../../model/tasks/groups.ts";
import { itemLabel, taskView } from "../../../model/tasks/selectors.ts";
import { restOf } from "../../../model/tasks/tally.ts";
import type { Item, TaskSpec } from "../../../model/types.ts";
import { Glyph } from "../../../ui/Glyph.tsx";
import { StateBar } from "../../../ui/parts.tsx";
import { GhostCard, LiveCard } from "./cards.tsx";
import { useScene } from "./context.ts";
import { DenseRows } from "./DenseRows.tsx";

const DONE = new Set(["tick", "double_tick"]);

interface Column {
  member: Member;
  x: number;
  y: number;
  width: number;
  open: boolean;
}

function columnsOf(family: Family, openWidth: number, openMember: string | undefined, dense: boolean): Column[] {
  const openId = family.members.some((member) => member.id === openMember) ? openMember : family.members[0]?.id;
  let x = 12;
  return family.members.map((member, index) => {
    const open = member.id === openId;
    const width = dense ? 160 : open ? openWidth : SHUT_WIDTH;
    const column = { member, x, y: FOLDED_TOP, width, open };
    // One wider gap after the first column keeps the matrix as wide whichever column is open.
    x += width + (index === 0 && !dense ? 24 : 12);
    return column;
  });
}

/** A folded family: a head a member, one below the other, and no rows. */
function foldedColumns(block: Block, family: Family): Column[] {
  const width = block.width - 24;
  return family.members.map((member, index) => ({
    member,
    x: 12,
    y: FOLDED_TOP + index * FOLDED_PITCH,
    width,
    open: false,
  }));
}

const Pip = memo(function Pip({ id, x, y }: { id: string; x: number; y: number }) {
  const { model, fleet, selected, onSelect } = useScene();
  const view = useTask(model, fleet, id);
  if (!view) return null;
  return (
    <button
      type="button"
      tabIndex={-1}
      data-task={view.id}
      className={`pip ${selected === id ? "selected" : ""}`}
      style={{ left: x - 12, top: y - 12 }}
      title={`${view.name}: ${view.shown.word}`}
      onClick={() => onSelect(view.id)}
    >
      <Glyph name={view.shown.glyph} tone={view.shown.tone} />
    </button>
  );
});

export function FamilyBlock({ block }: { block: Block }) {
  const family = block.family;
  const { model, fleet, open } = useScene();
  const view = useTask(model, fleet, family?.root ?? "");
  if (!family) return null;
  const dense = isDense(family);
  const columns = block.folded
    ? foldedColumns(block, family)
    : columnsOf(family, block.open ?? OPEN_WIDTH, open.get(family.root), dense);
  const root = view?.spec;
  const rows = [...family.keys, ...family.dropped.keys()];
  return (
    <section className="family">
      <header title={`Open ${family.root}`}>
        <b>{titleOf(root)}</b>
        <span className="cut">{subtitleOf(family)}</span>
      </header>
      {columns.map((column) => (
        <MemberHead key={column.member.id} column={column} root={family.root} folded={block.folded} />
      ))}
      {block.folded ? null : dense ? (
        columns.map((column) => (
          <DenseRows key={column.member.id} keys={family.keys} member={column.member} x={column.x} />
        ))
      ) : (
        <>
          <Threads family={family} columns={columns} />
          {rows.map((key, index) => (
            <Row key={key} family={family} columns={columns} rowKey={key} y={FAMILY_HEAD + index * ROW_PITCH} />
          ))}
        </>
      )}
      {rows.length === 0 && (
        <p className={`later small dim ${block.folded ? "low" : ""}`}>{waitsFor(root, view?.group)}</p>
      )}
    </section>
  );
}

function titleOf(root: TaskSpec | undefined): string {
  const each = root?.for_each;
  if (each?.times) return each.devices ? `${each.times} different devices` : `${each.times} calls`;
  if (each?.devices && each.source) return `The device that ${each.source} names`;
  if (each?.devices) return "Each device";
  const list = each?.output?.split("/").filter(Boolean).pop() ?? "";
  return list ? `Each of ${list}` : "Each item";
}

function subtitleOf(family: Family): string {
  const all = family.keys.length + family.dropped.size;
  if (all === 0) return "";
  if (family.dropped.size === 0) return `${all}`;
  const version = Math.max(...family.dropped.values());
  return `${family.keys.length} of ${all}, ${family.dropped.size} dropped in v${version}`;
}

function waitsFor(root: TaskSpec | undefined, group: { state?: string } | undefined): string {
  if (group?.state === "cancelled") return "It was cancelled before its list was known.";
  if (group?.state === "skipped") return "It was skipped.";
  if (group?.state && group.state !== "waiting") return "The list is empty.";
  if (root?.for_each?.times) return "Unfolds when its calls may begin.";
  return root?.for_each?.source
    ? `Unfolds when ${root.for_each.source} has the list.`
    : "Unfolds when the list is known.";
}

function MemberHead({ column, root, folded }: { column: Column; root: string; folded: boolean }) {
  const { model, fleet, onOpen, selected, onSelect } = useScene();
  const { member, x, y, width, open } = column;
  useGroup(model, fleet, member.id);
  const tally = groupTally(model, fleet, member.id);
  const { size } = tally;
  const all = tally.counts();
  const done = all.reduce((sum, { shown, count }) => sum + (DONE.has(shown.glyph) ? count : 0), 0);
  const places = [...tally.onDevices.keys()].flatMap((id) => devices(fleet).get(id) ?? []);
  const tags = places.map(({ tag }) => tag);
  const spec = model.one<TaskSpec>(`spec/${member.id}`);
  const wide = width > 120;
  const of = (tone: string) => all.find((count) => count.shown.tone === tone);
  // Folded rows show no trouble of their own, so the head tells it.
  const now = of("vermilion") ?? (folded ? of("amber") : undefined) ?? of("blue");
  const limit = spec?.for_each?.max_parallel ? `${spec.for_each.max_parallel} at once` : "";
  const place = places[0]?.device.name ?? spec?.device?.name ?? "";
  const note = now ? `${now.count} ${now.shown.word.toLowerCase()}` : restOf(all, size);
  return (
    <button
      type="button"
      tabIndex={-1}
      data-task={member.id}
      className={`member ${open ? "open" : ""} ${selected === member.id ? "selected" : ""}`}
      style={{ left: x, top: y, width }}
      title={open || folded ? member.id : `Open ${member.id}`}
      onClick={() => (open || folded ? onSelect(member.id) : onOpen(root, member.id))}
    >
      <span className="row">
        <span className="strong cut">{member.id}</span>
        {size > 0 && <span className="end dim small nowrap">{wide ? `${done} of ${size}` : `${done}/${size}`}</span>}
      </span>
      <StateBar counts={all} />
      <span className="row small dim nowrap">
        {tags.slice(0, wide ? 3 : 1).map((tag) => (
          <span className="tag" key={tag}>
            {tag}
          </span>
        ))}
        <span className="cut">
          {wide && !folded ? [tags.length > 1 ? "" : place, limit].filter(Boolean).join(", ") : size ? note : ""}
        </span>
      </span>
    </button>
  );
}

function Row(props: { family: Family; columns: Column[]; rowKey: string; y: number }) {
  const { family, columns, rowKey, y } = props;
  const { model } = useScene();
  const dropped = family.dropped.get(rowKey);
  return (
    <>
      {columns.map(({ member, x, width, open }) => {
        const child = member.children.get(rowKey);
        if (open) {
          const label = itemLabel(model.one<Item>(`item/${family.root}/${rowKey}`));
          const note = dropped === undefined ? undefined : [`Dropped in v${dropped}`, label].filter(Boolean).join(", ");
          return (
            <div key={member.id} className="slot" style={{ left: x, top: y, width }}>
              {child ? <LiveCard id={child} /> : <GhostCard id={`${member.id}.${rowKey}`} note={note} />}
            </div>
          );
        }
        return child ? <Pip key={member.id} id={child} x={x + width / 2} y={y + 22} /> : null;
      })}
    </>
  );
}

function Threads({ family, columns }: { family: Family; columns: Column[] }) {
  const { model, fleet, selected } = useScene();
  const board = boardOf(model, fleet);
  useSyncExternalStore(board.subscribe, () => columns.map((column) => board.groupRevision(column.member.id)).join(" "));
  const lines: { d: string; ahead: boolean; selected: boolean }[] = [];
  family.keys.forEach((key, row) => {
    const y = FAMILY_HEAD + row * ROW_PITCH + 22;
    const chosen = columns.some((column) => column.member.children.get(key) === selected);
    for (let index = 1; index < columns.length; index += 1) {
      const [left, right] = [columns[index - 1], columns[index]];
      if (!left || !right) continue;
      const child = left.member.children.get(key);
      if (!child || !right.member.children.has(key)) continue;
      const x1 = left.open ? left.x + left.width : left.x + left.width / 2 + 13;
      const x2 = right.open ? right.x : right.x + right.width / 2 - 13;
      const done = DONE.has(taskView(model, fleet, child)?.shown.glyph ?? "");
      lines.push({ d: `M${x1} ${y}H${x2}`, ahead: !done, selected: chosen });
    }
  });
  const at = (wanted: { ahead: boolean; selected: boolean }) =>
    lines
      .filter((line) => line.ahead === wanted.ahead && line.selected === wanted.selected)
      .map((line) => line.d)
      .join("");
  return (
    <svg className="threads" aria-hidden="true">
      <path d={at({ ahead: false, selected: false })} />
      <path d={at({ ahead: true, selected: false })} className="ahead" />
      <path d={at({ ahead: false, selected: true })} className="chosen" />
      <path d={at({ ahead: true, selected: true })} className="ahead chosen" />
    </svg>
  );
}
