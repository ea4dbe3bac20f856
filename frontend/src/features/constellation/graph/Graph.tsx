/**
 * The drawing of a constellation: pan and zoom by xyflow, cards where they can be read, one canvas where not.
 * Loaded on need. Places come from `layout` at once and, for large drawings, again from ELK.
 */
import "@xyflow/react/dist/base.css";
import "./graph.css";
import { type Node, type NodeProps, ReactFlow, ReactFlowProvider, useStore, ViewportPortal } from "@xyflow/react";
import { memo, useCallback, useMemo, useState } from "react";
import { type Block, type Drawing, isDense } from "../../../model/layout/blocks.ts";
import type { Hit } from "../../../model/layout/hits.ts";
import { type Placed, pathOf } from "../../../model/layout/layout.ts";
import type { Overlay } from "../../../model/stream/history.ts";
import type { StreamModel } from "../../../model/stream/stream.ts";
import { specs, taskView } from "../../../model/tasks/selectors.ts";
import { Button } from "../../../ui/parts.tsx";
import { useFittedView, type ViewProps } from "./canvas/useFittedView.ts";
import { usePointing } from "./canvas/usePointing.ts";
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

interface GraphProps extends ViewProps {
  overlay: Overlay;
  ghosts: boolean;
  onSelect: (task: string) => void;
  onMenu: OpenMenu;
  minimap: boolean;
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
  const { model, fleet, selected, overlay, ghosts, onSelect, onMenu, down } = props;
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

  const cards = useCardsInView(drawing, placed);
  const { box, isFitted, follows, onMoved, fitFirst, fitAgain, zoom } = useFittedView(props, drawing, placed, ready);
  const { hovered, handlers, hover, leave, press, onContextMenu } = usePointing(props, drawing, placed);

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
          onInit={fitFirst}
          onMoveStart={(event) => {
            if (event) onMoved();
            leave();
          }}
          // A node without a handler of its own gets no pointer at all, nor do the cards in it.
          onNodeClick={(event, node) => {
            const { family } = node.data.block;
            if (family && !(event.target as Element).closest("button, canvas")) onSelect(family.root);
          }}
          onNodeContextMenu={onContextMenu}
          onPaneClick={press}
          onPaneContextMenu={onContextMenu}
          onPaneMouseMove={hover}
          onPaneMouseLeave={leave}
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
          <div className="view row only-wide">
            <div className="zoom seg">
              <button type="button" tabIndex={-1} title="Zoom out (-)" onClick={() => zoom("out")}>
                &minus;
              </button>
              <ZoomText />
              <button type="button" tabIndex={-1} title="Zoom in (+)" onClick={() => zoom("in")}>
                +
              </button>
            </div>
            <Button
              icon="fit"
              tabIndex={-1}
              aria-pressed={follows}
              title={follows ? "The view follows the plan" : "Follow the plan again (f)"}
              onClick={fitAgain}
            >
              Fit <kbd aria-hidden="true">f</kbd>
            </Button>
          </div>
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
