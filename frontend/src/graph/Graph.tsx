/**
 * The drawing of a constellation: pan and zoom by xyflow, cards where they can be read, one canvas where not.
 * Loaded on need. Places come from `layout` at once and, for large drawings, again from ELK.
 */
import "@xyflow/react/dist/base.css";
import "../styles/graph.css";
import {
  MiniMap,
  type MiniMapNodeProps,
  type Node,
  type NodeProps,
  ReactFlow,
  type ReactFlowInstance,
  useStore,
  ViewportPortal,
} from "@xyflow/react";
import { memo, useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { Overlay } from "../model/history.ts";
import { dependencies, inTrouble, specs, taskView } from "../model/selectors.ts";
import type { StreamModel } from "../model/stream.ts";
import { Button } from "../ui/parts.tsx";
import { type Block, type Drawing, isDense, drawing as makeDrawing } from "./blocks.ts";
import { ChainBlock, SingleBlock } from "./cards.tsx";
import { GraphContext, type GraphScene, useScene } from "./context.ts";
import { FamilyBlock } from "./FamilyCard.tsx";
import { layout, layoutDown, type Placed, pathOf } from "./layout.ts";
import { Mirror } from "./Mirror.tsx";
import { Overview, tilesOf } from "./Overview.tsx";

/** Above this many cards in view the canvas takes over; a card is about eleven elements and a page has 1,500. */
const CARDS_MAX = 90;
const ELK_FROM = 24;
const MINI_TILES_MAX = 120;

export interface GraphProps {
  model: StreamModel;
  fleet: StreamModel;
  selected: string | null;
  overlay: Overlay;
  ghosts: boolean;
  onSelect: (task: string) => void;
  /** Pixels that floating panels cover, so that a fit does not put work under them. */
  covered: { top: number; bottom: number };
  minimap: boolean;
  /** The least zoom of a fit; below it only a part is shown. 0 fits all of it always. */
  readable: number;
  /** Drawn from top to bottom with folded families, for a narrow screen. */
  down: boolean;
}

type BlockNode = Node<{ block: Block }, "block">;

const BlockView = memo(function BlockView({ data }: NodeProps<BlockNode>) {
  if (data.block.kind === "family") return <FamilyBlock block={data.block} />;
  return data.block.kind === "chain" ? <ChainBlock block={data.block} /> : <SingleBlock block={data.block} />;
});
const NODE_TYPES = { block: BlockView };

export default function Graph(props: GraphProps) {
  const { model, fleet, selected, overlay, ghosts, onSelect, covered, readable, down } = props;
  const { structure } = model;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the model is one object; `structure` says when it changed.
  const drawing = useMemo(
    () => makeDrawing(specs(model), dependencies(model).values(), overlay.removed, ghosts, down),
    [model, structure, overlay, ghosts, down],
  );
  const placed = usePlaces(drawing, down);
  const [open, setOpen] = useState<ReadonlyMap<string, string>>(new Map());
  const onOpen = useCallback(
    (family: string, member: string) => setOpen((held) => new Map(held).set(family, member)),
    [],
  );
  const blocks = useMemo(() => new Map(drawing.blocks.map((block) => [block.id, block])), [drawing]);
  const scene: GraphScene = { blocks, model, fleet, selected, overlay, open, onSelect, onOpen };

  const flow = useRef<ReactFlowInstance<BlockNode> | null>(null);
  const moved = useRef(false);
  const box = useRef<HTMLDivElement>(null);
  const fitAll = useCallback(
    (duration: number) => {
      const element = box.current;
      if (!element || !flow.current) return;
      const free = { width: element.clientWidth - 32, height: element.clientHeight - covered.top - covered.bottom };
      if (down) {
        const zoom = Math.max(readable, Math.min(1, free.width / placed.width));
        const at = placed.at.get(firstToSee(drawing, model, fleet)) ?? { x: 0, y: 0 };
        const [over, below] = [placed.width * zoom - free.width, placed.height * zoom - free.height];
        const x = over <= 0 ? (element.clientWidth - placed.width * zoom) / 2 : 16 - Math.min(at.x * zoom, over);
        const y = covered.top + (below <= 0 ? -below / 2 : -Math.min(at.y * zoom, below));
        void flow.current.setViewport({ x, y, zoom }, { duration });
        return;
      }
      const zoom = Math.max(0.02, Math.min(1, free.width / placed.width, free.height / placed.height));
      if (zoom < readable) {
        // Too small to read here: rather a part of it, beginning where something is to be looked at.
        const at = placed.at.get(firstToSee(drawing, model, fleet)) ?? { x: 0, y: 0 };
        void flow.current.setViewport(
          { x: 16 - at.x * readable, y: covered.top - at.y * readable, zoom: readable },
          { duration },
        );
        return;
      }
      const x = (element.clientWidth - placed.width * zoom) / 2;
      const y = covered.top + (free.height - placed.height * zoom) / 2;
      void flow.current.setViewport({ x, y, zoom }, { duration });
    },
    [covered.top, covered.bottom, placed, drawing, readable, down, model, fleet],
  );

  useEffect(() => {
    if (moved.current) return;
    const frame = requestAnimationFrame(() => fitAll(0));
    return () => cancelAnimationFrame(frame);
  }, [fitAll]);

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (event.key === "f") {
        moved.current = false;
        fitAll(180);
      } else if (event.key === "+" || event.key === "=") void flow.current?.zoomIn({ duration: 120 });
      else if (event.key === "-") void flow.current?.zoomOut({ duration: 120 });
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [fitAll]);

  const nodes = useMemo<BlockNode[]>(
    () =>
      drawing.blocks.map((block) => ({
        id: block.id,
        type: "block",
        position: placed.at.get(block.id) ?? { x: 0, y: 0 },
        data: { block },
        width: block.width,
        height: block.height,
        focusable: false,
        draggable: false,
        selectable: false,
      })),
    [drawing, placed],
  );

  return (
    <GraphContext value={scene}>
      <Mirror label="Graph as a tree: up and down read on, left and right walk the dependencies" />
      <div className="flow" aria-hidden="true" ref={box}>
        <ReactFlow<BlockNode>
          nodes={nodes}
          edges={[]}
          nodeTypes={NODE_TYPES}
          onInit={(instance) => {
            flow.current = instance;
            fitAll(0);
          }}
          onMoveStart={(event) => {
            if (event) moved.current = true;
          }}
          nodesDraggable={false}
          nodesConnectable={false}
          nodesFocusable={false}
          elementsSelectable={false}
          onlyRenderVisibleElements
          disableKeyboardA11y
          panOnScroll
          zoomOnDoubleClick={false}
          deleteKeyCode={null}
          selectionKeyCode={null}
          multiSelectionKeyCode={null}
          panActivationKeyCode={null}
          minZoom={0.02}
          maxZoom={1.6}
          proOptions={{ hideAttribution: true }}
        >
          <Layers drawing={drawing} placed={placed} selected={selected} down={down} />
          {props.minimap && (
            <MiniMap<BlockNode>
              className="minimap"
              pannable
              ariaLabel={null}
              nodeComponent={MiniBlock}
              bgColor="var(--surface)"
              maskColor="color-mix(in srgb, var(--line) 55%, transparent)"
            />
          )}
          <div className="zoom seg only-wide">
            <button
              type="button"
              tabIndex={-1}
              title="Zoom out (-)"
              onClick={() => void flow.current?.zoomOut({ duration: 120 })}
            >
              &minus;
            </button>
            <ZoomText />
            <button
              type="button"
              tabIndex={-1}
              title="Zoom in (+)"
              onClick={() => void flow.current?.zoomIn({ duration: 120 })}
            >
              +
            </button>
          </div>
          <Button
            className="fit only-wide"
            icon="fit"
            tabIndex={-1}
            onClick={() => {
              moved.current = false;
              fitAll(180);
            }}
          >
            Fit <kbd aria-hidden="true">f</kbd>
          </Button>
        </ReactFlow>
      </div>
    </GraphContext>
  );
}

function ZoomText() {
  const zoom = useStore((state) => state.transform[2]);
  return <span>{Math.round(zoom * 100)} %</span>;
}

/** Links below the cards; or, when too many cards would be in view, the canvas above them. */
function Layers(props: { drawing: Drawing; placed: Placed; selected: string | null; down: boolean }) {
  const { drawing, placed, selected, down } = props;
  const many = useStore((state) => {
    const [dx, dy, zoom] = state.transform;
    let cards = 0;
    for (const block of drawing.blocks) {
      const at = placed.at.get(block.id);
      if (!at) continue;
      const [x, y] = [at.x * zoom + dx, at.y * zoom + dy];
      if (x > state.width || y > state.height || x + block.width * zoom < 0 || y + block.height * zoom < 0) continue;
      cards += cardsOf(block);
    }
    return cards > CARDS_MAX || zoom < 0.3;
  });
  const chosen = useMemo(() => chosenLinks(drawing, selected), [drawing, selected]);
  if (many) return <Overview drawing={drawing} placed={placed} />;
  return (
    <ViewportPortal>
      <svg className="links" aria-hidden="true">
        {drawing.links.map((link, index) => {
          const points = placed.routes[index] ?? [];
          const end = points[points.length - 1];
          if (!end) return null;
          const on = chosen.has(index);
          return (
            <g key={`${link.from}>${link.to}`} className={on ? "chosen" : chosen.size ? "back" : ""}>
              <path d={pathOf(points)} />
              <path className="tip" d={`M${end.x} ${end.y}${down ? "l-3.5 -6h7z" : "l-6 -3.5v7z"}`} />
            </g>
          );
        })}
      </svg>
    </ViewportPortal>
  );
}

/** About how many cards a block is drawn as. */
function cardsOf({ family, folded, tasks }: Block): number {
  if (!family) return tasks.length;
  return folded ? family.members.length : isDense(family) ? 4 : family.keys.length * 1.6;
}

/** The links on the way to and from the selection. */
function chosenLinks(drawing: Drawing, selected: string | null): Set<number> {
  const chosen = new Set<number>();
  const start = selected ? drawing.place.get(selected) : undefined;
  if (!start) return chosen;
  for (const [near, far] of [
    ["to", "from"],
    ["from", "to"],
  ] as const) {
    const seen = new Set([start]);
    const open = [start];
    while (open.length > 0) {
      const id = open.pop();
      drawing.links.forEach((link, index) => {
        if (link[near] !== id) return;
        chosen.add(index);
        if (!seen.has(link[far])) {
          seen.add(link[far]);
          open.push(link[far]);
        }
      });
    }
  }
  return chosen;
}

/** A block in the small map: a tile a task while they are few, else one in the colour of the worst. */
function MiniBlock({ id, x, y, width, height }: MiniMapNodeProps) {
  const { model, fleet, blocks } = useScene();
  const block = blocks.get(id);
  if (!block) return null;
  const tiles = tilesOf(block);
  if (tiles.length > MINI_TILES_MAX || blocks.size > MINI_TILES_MAX) {
    return <rect x={x} y={y} width={width} height={height} rx={6} fill={`var(--${worstTone(block, model, fleet)})`} />;
  }
  return (
    <g>
      {block.family && (
        <rect x={x} y={y} width={width} height={height} rx={8} fill="none" stroke="var(--line-2)" strokeWidth={4} />
      )}
      {tiles.map((tile) => {
        const shown = taskView(model, fleet, tile.id)?.shown;
        const ahead = !shown || shown.tone === "grey" || shown.tone === "indigo";
        const colour = `var(--${shown?.tone ?? "grey"})`;
        const box = { x: x + tile.x + 3, y: y + tile.y + 3, width: tile.width - 6, height: tile.height - 6, rx: 6 };
        return <rect key={tile.id} {...box} fill={ahead ? "none" : colour} stroke={colour} strokeWidth={4} />;
      })}
    </g>
  );
}

/** The block of the first task in trouble, else of the first that runs; empty when all of it rests. */
function firstToSee(drawing: Drawing, model: StreamModel, fleet: StreamModel): string {
  let open = "";
  for (const [task, block] of drawing.place) {
    const shown = taskView(model, fleet, task)?.shown;
    if (shown && inTrouble(shown)) return block;
    if (shown?.tone === "blue" && !open) open = block;
  }
  return open;
}

function worstTone(block: Block, model: StreamModel, fleet: StreamModel): string {
  const ids = block.family ? block.family.members.flatMap((member) => [...member.children.values()]) : block.tasks;
  let tone = "line-2";
  for (const id of ids) {
    const shown = taskView(model, fleet, id)?.shown;
    if (!shown) continue;
    if (shown.tone === "vermilion") return "vermilion";
    if (inTrouble(shown)) tone = shown.tone;
    else if (shown.tone === "blue" && tone !== "amber" && tone !== "violet") tone = "blue";
    else if (shown.tone === "teal" && tone === "line-2") tone = "teal";
  }
  return tone;
}

function usePlaces(drawing: Drawing, down: boolean): Placed {
  const quick = useMemo(() => (down ? layoutDown(drawing) : layout(drawing)), [drawing, down]);
  const [refined, setRefined] = useState<{ drawing: Drawing; placed: Placed } | null>(null);
  useEffect(() => {
    if (down || drawing.blocks.length < ELK_FROM) return;
    let wanted = true;
    void import("./elk.ts")
      .then((elk) => elk.elkLayout(drawing))
      .then((placed) => {
        if (wanted) setRefined({ drawing, placed });
      });
    return () => {
      wanted = false;
    };
  }, [drawing, down]);
  return refined?.drawing === drawing ? refined.placed : quick;
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && Boolean(target.closest("input, textarea, select, [contenteditable]"));
}
