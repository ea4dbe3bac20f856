/** The work through one lens: graph, list, timeline, conversation, planning or the answer in full. */
import { type ReactNode, useState } from "react";
import { useLook } from "../../../app/shell/theme.ts";
import { useLater, useMedia } from "../../../app/workspace/context.ts";
import { lazily } from "../../../app/workspace/lazily.tsx";
import { Empty, ProblemNote } from "../../../ui/parts.tsx";
import type { OpenMenu } from "../graph/context.ts";
import { Conversation } from "../planning/Conversation.tsx";
import { TaskList } from "../tasks/TaskList.tsx";
import { Dock } from "../view/Dock.tsx";
import { LENS } from "../view/lens.ts";
import { Tools } from "./Tools.tsx";
import type { Place } from "./usePlace.ts";
import type { Run } from "./useRun.ts";
import type { Versions } from "./useVersions.ts";

const ofGraph = () => import("../graph/Graph.tsx");
const ofTimeline = () => import("../timeline/Timeline.tsx");
const Graph = lazily("The graph", ofGraph, (module) => module.default);
const Timeline = lazily("The timeline", ofTimeline, (module) => module.default);
const Thinking = lazily(
  "The planning",
  () => import("../planning/Thinking.tsx"),
  (module) => module.Thinking,
);

/** Fetches the program of a lens that the address asks for, while its constellation is on the way. */
export function fetchLens(lens: string | null): void {
  // Where it cannot be had, the lens says so once it is drawn.
  if (lens === "timeline") void ofTimeline().catch(() => {});
  if (lens === "graph") void ofGraph().catch(() => {});
}

/** As in `narrow.css`. */
const LOW = "(max-height: 560px)";
/** The least zoom of a fit in a low window, and on a phone: below it the cards have no names. */
const LOW_ZOOM = 0.3;
const PHONE_ZOOM = 0.6;
/** Above so many tasks the list or the graph is drawn in a task of its own, behind the rest of the page. */
const LARGE = 300;
/** Heights in pixels of a row in the list: for a finger, for many rows, and as usual. */
const ROW = { finger: 56, compact: 28, comfortable: 40 };
/** Fewer tasks are seen whole, and need no map. */
const MAP_TASKS_MIN = 20;

interface Props {
  run: Run;
  place: Place;
  versions: Versions;
  /** The answer in full, where it is a lens. */
  stage: ReactNode;
  onMenu: OpenMenu;
}

export function Canvas({ run, place, versions, stage, onMenu }: Props) {
  const feed = useFeed();
  return (
    <section className="canvas" aria-label={LENS[run.lens]}>
      <Tools run={run} place={place} versions={versions} />
      {versions.problem && <ProblemNote problem={versions.problem} />}
      <ThroughLens run={run} place={place} versions={versions} stage={stage} onMenu={onMenu} feed={feed} />
      {run.lens === "graph" && !run.phone && (
        <Dock
          scene={run.scene}
          fleet={run.fleet}
          versions={versions.all}
          shown={versions.shown}
          playing={versions.playing}
          open={feed.open}
          onShow={versions.lookAt}
          onPlay={versions.play}
          onOpen={feed.setOpen}
          onSelect={place.select}
        />
      )}
    </section>
  );
}

interface FeedOpen {
  low: boolean;
  open: boolean;
  setOpen: (open: boolean) => void;
}

/**
 * Whether the feed is open. In a low window it would cover the graph, and opens by its button. A person's choice holds
 * until the window turns: a device that is turned begins as one that was opened so.
 */
function useFeed(): FeedOpen {
  const low = useMedia(LOW);
  const [asked, setAsked] = useState<{ low: boolean; open: boolean } | null>(null);
  return { low, open: asked?.low === low ? asked.open : !low, setOpen: (open) => setAsked({ low, open }) };
}

function ThroughLens({ run, place, versions, stage, onMenu, feed }: Props & { feed: FeedOpen }) {
  const density = useLook((look) => look.density);
  const framed = useLater(true);
  const { lens, model, fleet, head, views, phone } = run;
  if (lens === "planning") {
    return <Thinking model={model} fleet={fleet} head={head} phone={phone} />;
  }
  if (lens === "conversation") return <Conversation model={model} />;
  if (views.length === 0) {
    return (
      <Empty title={head.state === "planning" ? "The plan is being made." : "There is no task yet."}>
        <p>{head.request}</p>
      </Empty>
    );
  }
  if (lens === "answer") return stage;
  if (views.length > LARGE && !framed) return null;
  if (lens === "list") {
    return (
      <TaskList
        views={run.filtered}
        selected={place.task}
        rowHeight={phone ? ROW.finger : ROW[density]}
        progress={model.progress}
        onSelect={place.select}
        onSelectByKey={place.selectByKey}
        onMenu={onMenu}
      />
    );
  }
  if (lens === "timeline") {
    return (
      <Timeline
        waiting={<p className="dim waiting">Drawing the timeline.</p>}
        id={place.id}
        model={model}
        fleet={fleet}
        selected={place.task}
        narrow={phone}
        forecast={run.forecast}
        onSelect={place.select}
        onMenu={onMenu}
      />
    );
  }
  return (
    <Graph
      waiting={<p className="dim waiting">Drawing the graph.</p>}
      model={run.scene}
      fleet={fleet}
      selected={place.task}
      overlay={versions.drawn}
      ghosts={versions.shown !== null}
      onSelect={place.select}
      onMenu={onMenu}
      {...coveredOf(run, versions, feed)}
      readable={phone ? PHONE_ZOOM : feed.low ? LOW_ZOOM : 0}
      down={phone}
      minimap={!phone && !run.beside && views.length > MAP_TASKS_MIN && feed.open && !feed.low}
    />
  );
}

/** The pixels of the graph that the bar above and the dock below cover; a phone's bar has one to three lines. */
function coveredOf(run: Run, versions: Versions, feed: FeedOpen): { top: number; bottom: number } {
  if (!run.phone) return { top: 48, bottom: feed.open && !feed.low ? 178 : 68 };
  if (versions.past) return { top: 164, bottom: 12 };
  return { top: !run.final && versions.all.length > 1 ? 116 : 68, bottom: 12 };
}
