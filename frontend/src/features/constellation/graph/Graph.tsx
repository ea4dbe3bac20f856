/**
 * The drawing of a constellation: pan and zoom by xyflow, cards where they can be read, one canvas where not.
 * Loaded on need. Places come from `layout` at once and, for large drawings, again from ELK.
 */
import "@xyflow/react/dist/base.css";
import "./graph.css";
import {
  type Node,
  type NodeProps,
  ReactFlow,
  ReactFlowProvider,
  useReactFlow,
  useStore,
  ViewportPortal,
} from "@xyflow/react";
import { type MouseEvent, memo, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { type Block, type Drawing, isDense } from "../../../model/layout/blocks.ts";
import { beginOf, fitted } from "../../../model/layout/fitting.ts";
import { boxOf, farEnd, type Hit, hitAt } from "../../../model/layout/hits.ts";
import { type Placed, pathOf } from "../../../model/layout/layout.ts";
import type { Overlay } from "../../../model/stream/history.ts";
import type { StreamModel } from "../../../model/stream/stream.ts";
import { inTrouble, specs, taskView } from "../../../model/tasks/selectors.ts";
import { Button } from "../../../ui/parts.tsx";
import { useLongPress } from "./canvas/longPress.ts";
import { ChainBlock, SingleBlock } from "./cards.tsx";
import { GraphContext, type GraphScene, type OpenMenu } from "./context.ts";
import { FamilyBlock } from "./FamilyCard.tsx";
import { Minimap } from "./Minimap.tsx";
import { Mirror } from "./Mirror.tsx";
import { Overview } from "./Overview.tsx";
import { usePlaces } from "./places/places.ts";

/** Above this many cards in view the canvas takes over; a card is about eleven elements and a page has 1,500. */
const CARDS_MAX = 90;
const READABLE_ZOOM = 0.3;
/** Above so many links only those of the cards in view are drawn. */
const LINKS_MAX = 1000;
/** How many pixels beside a link a press still counts. */
const LINK_SLACK = 6;

interface GraphProps {
  model: StreamModel;
  fleet: StreamModel;
  selected: string | null;
  overlay: Overlay;
  ghosts: boolean;
  onSelect: (task: string) => void;
  onMenu: OpenMenu;
  /** Pixels that floating panels cover above and below, so that a fit does not put work under them. */
  top: number;
  bottom: number;
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

/** Drawn again only for a change of its own: what a task shows, each card and canvas follows for itself. */
export default memo(function Graph(props: GraphProps) {
  return (
    <ReactFlowProvider>
      <Scene {...props} />
    </ReactFlowProvider>
  );
});

function Scene(props: GraphProps) {
  const { model, fleet, selected, overlay, ghosts, onSelect, onMenu, top, bottom, readable, down } = props;
  const { drawing, placed, ready } = usePlaces({ model, overlay, ghosts, down });
  const [open, setOpen] = useState<ReadonlyMap<string, string>>(new Map());
  const onOpen = useCallback(
    (family: string, member: string) => setOpen((held) => new Map(held).set(family, member)),
    [],
  );
  const scene = useMemo<GraphScene>(
    () => ({ model, fleet, selected, overlay, open, onSelect, onMenu, onOpen }),
    [model, fleet, selected, overlay, open, onSelect, onMenu, onOpen],
  );

  const flow = useReactFlow<BlockNode>();
  const cards = useCardsInView(drawing, placed);
  const moved = useRef(false);
  const [follows, setFollows] = useState(true);
  // Cards that stood elsewhere for one frame would be pressed where they no longer are.
  const [isFitted, setIsFitted] = useState(false);
  /** A view that a person has chosen stays; before the first fit there is nothing to choose. */
  const onMoved = () => {
    moved.current = isFitted;
    setFollows(!isFitted);
  };
  const zoom = (by: "in" | "out") => {
    onMoved();
    void (by === "in" ? flow.zoomIn : flow.zoomOut)({ duration: 120 });
  };
  const box = useRef<HTMLDivElement>(null);
  const fitAll = useCallback(
    (duration: number) => {
      const element = box.current;
      if (!element || !ready) return;
      const room = { width: element.clientWidth, height: element.clientHeight, top, bottom };
      const first = placed.at.get(firstToSee(drawing, placed, model, fleet, down)) ?? { x: 0, y: 0 };
      const to = fitted(placed, room, { least: readable, wide: down }, first);
      void flow.setViewport(to, { duration }).then((done) => done && setIsFitted(true));
    },
    [flow, ready, top, bottom, placed, drawing, readable, down, model, fleet],
  );

  const fitAgain = () => {
    moved.current = false;
    setFollows(true);
    fitAll(180);
  };

  useEffect(() => {
    if (moved.current) return;
    const frame = requestAnimationFrame(() => fitAll(0));
    return () => cancelAnimationFrame(frame);
  }, [fitAll]);

  // The room changes when the window turns or a task is opened beside the graph.
  useEffect(() => {
    const element = box.current;
    if (!element || typeof ResizeObserver !== "function") return;
    const watch = new ResizeObserver(() => {
      if (!moved.current) fitAll(0);
    });
    watch.observe(element);
    return () => watch.disconnect();
  }, [fitAll]);

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (event.key === "f") fitAgain();
      else if (event.key === "+" || event.key === "=") zoom("in");
      else if (event.key === "-") zoom("out");
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });

  // A task that was found by its name or by a key may stand far away; one that was pressed is in view.
  // biome-ignore lint/correctness/useExhaustiveDependencies: only another choice moves the view, and the first fit shows it.
  useEffect(() => {
    const element = box.current;
    const at = selected !== null && element ? boxOf(drawing, placed, selected) : null;
    if (!at || !element) return;
    const { x, y, zoom } = flow.getViewport();
    const [left, above] = [at.x * zoom + x, at.y * zoom + y];
    const beside = left + at.width * zoom < 0 || left > element.clientWidth;
    if (!beside && above + at.height * zoom > top && above < element.clientHeight - bottom) return;
    onMoved();
    void flow.setCenter(at.x + at.width / 2, at.y + at.height / 2, { zoom });
  }, [selected, isFitted]);

  const [hovered, setHovered] = useState<{ hit: Hit; x: number; y: number } | null>(null);
  /** The thing that is drawn below a pointer on the bare canvas. */
  const under = (event: { clientX: number; clientY: number }): Hit | null => {
    const slack = LINK_SLACK / flow.getZoom();
    return hitAt(drawing, placed, flow.screenToFlowPosition({ x: event.clientX, y: event.clientY }), slack);
  };
  const press = (hit: Hit | null) => {
    if (hit) onSelect(hit.kind === "task" ? hit.id : farEnd(drawing, hit, selected));
  };
  /** The task of a card, or of a tile or frame that is only painted. */
  const taskAt = (target: Element, at: { x: number; y: number }): string | null => {
    const card = target.closest<HTMLElement>("[data-task]")?.dataset.task;
    if (card) return card;
    const hit = under({ clientX: at.x, clientY: at.y });
    return hit?.kind === "task" ? hit.id : null;
  };
  const askMenu = (target: Element, at: { x: number; y: number }) => {
    const task = taskAt(target, at);
    if (task) onMenu(task, at);
  };
  const { held, handlers } = useLongPress(askMenu);
  const onContextMenu = (event: MouseEvent | globalThis.MouseEvent) => {
    event.preventDefault();
    if (!held.current) askMenu(event.target as Element, { x: event.clientX, y: event.clientY });
  };
  const hover = (event: MouseEvent) => {
    const bare = event.buttons === 0 && (event.target as Element).classList.contains("react-flow__pane");
    const hit = bare ? under(event) : null;
    if (hit || hovered) setHovered(hit && { hit, x: event.clientX, y: event.clientY });
  };

  const nodes = useMemo<BlockNode[]>(
    () =>
      (cards ?? []).map((block) => ({
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
    [cards, placed],
  );

  return (
    <GraphContext value={scene}>
      <Mirror label="Graph as a tree: up and down read on, left and right walk the dependencies" />
      <div
        className={`flow ${hovered ? "over" : ""} ${isFitted ? "" : "unfitted"}`}
        aria-hidden="true"
        ref={box}
        {...handlers}
      >
        <ReactFlow<BlockNode>
          nodes={nodes}
          edges={[]}
          nodeTypes={NODE_TYPES}
          onInit={() => fitAll(0)}
          onMoveStart={(event) => {
            if (event) onMoved();
            setHovered(null);
          }}
          // A node without a handler of its own gets no pointer at all, nor do the cards in it.
          onNodeClick={(event, node) => {
            const { family } = node.data.block;
            if (family && !(event.target as Element).closest("button, canvas")) onSelect(family.root);
          }}
          onNodeContextMenu={onContextMenu}
          onPaneClick={(event) => press(under(event))}
          onPaneContextMenu={onContextMenu}
          onPaneMouseMove={hover}
          onPaneMouseLeave={() => setHovered(null)}
          nodesDraggable={false}
          nodesConnectable={false}
          nodesFocusable={false}
          elementsSelectable={false}
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
          {cards ? (
            <Links drawing={drawing} placed={placed} cards={cards} selected={selected} down={down} />
          ) : (
            <Overview drawing={drawing} placed={placed} />
          )}
          {props.minimap && <Minimap drawing={drawing} placed={placed} onMove={onMoved} />}
          <div className="zoom seg only-wide">
            <button type="button" tabIndex={-1} title="Zoom out (-)" onClick={() => zoom("out")}>
              &minus;
            </button>
            <ZoomText />
            <button type="button" tabIndex={-1} title="Zoom in (+)" onClick={() => zoom("in")}>
              +
            </button>
          </div>
          <Button
            className="fit only-wide"
            icon="fit"
            tabIndex={-1}
            aria-pressed={follows}
            title={follows ? "The view follows the plan" : "Follow the plan again (f)"}
            onClick={fitAgain}
          >
            Fit <kbd aria-hidden="true">f</kbd>
          </Button>
        </ReactFlow>
        {!ready && <p className="dim waiting">Placing {specs(model).size} tasks.</p>}
        {hovered && <Hovered {...hovered} model={model} fleet={fleet} />}
      </div>
    </GraphContext>
  );
}

function ZoomText() {
  const zoom = useStore((state) => state.transform[2]);
  return <span>{Math.round(zoom * 100)} %</span>;
}

/** The blocks that are drawn as cards now; null where there would be too many of them or none could be read. */
function useCardsInView(drawing: Drawing, placed: Placed): readonly Block[] | null {
  return useStore(
    useCallback(
      ({ transform: [dx, dy, zoom], width, height }) => {
        if (zoom < READABLE_ZOOM) return null;
        const found: Block[] = [];
        let cards = 0;
        for (const block of drawing.blocks) {
          const at = placed.at.get(block.id);
          if (!at) continue;
          const [x, y] = [at.x * zoom + dx, at.y * zoom + dy];
          if (x > width || y > height || x + block.width * zoom < 0 || y + block.height * zoom < 0) continue;
          found.push(block);
          cards += cardsOf(block);
          if (cards > CARDS_MAX) return null;
        }
        return found;
      },
      [drawing, placed],
    ),
    (a, b) => a === b || (a?.length === b?.length && (a?.every((block, index) => block === b?.[index]) ?? false)),
  );
}

interface Drawn {
  way: string;
  tip: string;
}

/** All links in two paths, and those on the way to and from the selection in two more: an element a link is too many. */
function Links(props: {
  drawing: Drawing;
  placed: Placed;
  cards: readonly Block[];
  selected: string | null;
  down: boolean;
}) {
  const { drawing, placed, cards, selected, down } = props;
  const chosen = useMemo(() => chosenLinks(drawing, selected), [drawing, selected]);
  // Fewer links are drawn whole, whichever cards are in view: a pan leaves their paths alone.
  const near = drawing.links.length > LINKS_MAX ? cards : null;
  const [others, own] = useMemo(() => {
    const inView = near && new Set(near.map((block) => block.id));
    const found = [
      { way: "", tip: "" },
      { way: "", tip: "" },
    ] as [Drawn, Drawn];
    drawing.links.forEach((link, index) => {
      const points = placed.routes[index] ?? [];
      const end = points[points.length - 1];
      if (!end || (inView && !inView.has(link.from) && !inView.has(link.to))) return;
      const into = found[chosen.has(index) ? 1 : 0];
      into.way += pathOf(points);
      into.tip += `M${end.x} ${end.y}${down ? "l-3.5 -6h7z" : "l-6 -3.5v7z"}`;
    });
    return found;
  }, [drawing, placed, near, chosen, down]);
  return (
    <ViewportPortal>
      <svg className="links" aria-hidden="true">
        <path className={`way ${chosen.size ? "back" : ""}`} d={others.way} />
        <path className={`tip ${chosen.size ? "back" : ""}`} d={others.tip} />
        <path className="way chosen" d={own.way} />
        <path className="tip chosen" d={own.tip} />
      </svg>
    </ViewportPortal>
  );
}

/** Whose tile or which link the pointer is over: on the bare canvas there is no card that says it. */
function Hovered(props: { hit: Hit; x: number; y: number; model: StreamModel; fleet: StreamModel }) {
  const { hit, x, y, model, fleet } = props;
  const view = hit.kind === "task" ? taskView(model, fleet, hit.id) : undefined;
  const text =
    hit.kind === "link"
      ? `${hit.from.replace("family:", "")} to ${hit.to.replace("family:", "")}`
      : [view?.name ?? hit.id, view && !view.spec.for_each ? view.shown.word : "", view?.deviceName]
          .filter(Boolean)
          .join(", ");
  return (
    <span className="hovered" style={{ left: Math.min(x + 12, innerWidth - 240), top: y + 16 }}>
      {text}
    </span>
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
    const at = new Map<string, number[]>();
    drawing.links.forEach((link, index) => {
      const held = at.get(link[near]);
      if (held) held.push(index);
      else at.set(link[near], [index]);
    });
    const seen = new Set([start]);
    const open = [start];
    for (let id = open.pop(); id !== undefined; id = open.pop()) {
      for (const index of at.get(id) ?? []) {
        chosen.add(index);
        const next = drawing.links[index]?.[far];
        if (next === undefined || seen.has(next)) continue;
        seen.add(next);
        open.push(next);
      }
    }
  }
  return chosen;
}

/** The block of the first task in trouble, else of the first that runs, else the one where the drawing begins. */
function firstToSee(drawing: Drawing, placed: Placed, model: StreamModel, fleet: StreamModel, down: boolean): string {
  let open = "";
  for (const [task, block] of drawing.place) {
    const shown = taskView(model, fleet, task)?.shown;
    if (shown && inTrouble(shown)) return block;
    if (shown?.tone === "blue" && !open) open = block;
  }
  return open || beginOf(placed, down);
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && Boolean(target.closest("input, textarea, select, [contenteditable]"));
}
