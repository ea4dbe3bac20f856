/**
 * A constellation as its page shows it at this moment: its head, its tasks as they are and as they were at the version
 * that is looked at, and the parts of its answer. Draws nothing.
 */
import { useMemo, useState } from "react";
import { failedTasks } from "../../../app/actions/actions.ts";
import { usePart } from "../../../app/waiting/mine.ts";
import { useBoard, useFleet, useMedia, useNow, usePhone } from "../../../app/workspace/context.ts";
import { type AnswerPart, fullFirst, leading, partsOf } from "../../../model/answer/parts.ts";
import { isPlanning } from "../../../model/plan/planning.ts";
import { answerNow, headShown, roundBeganMs } from "../../../model/plan/soFar.ts";
import type { StreamModel } from "../../../model/stream/stream.ts";
import { boardOf } from "../../../model/tasks/board.ts";
import { readFilter } from "../../../model/tasks/filter.ts";
import { allViews, answer, counted, specs, type TaskView } from "../../../model/tasks/selectors.ts";
import { Tally } from "../../../model/tasks/tally.ts";
import type { Answer, Device, Head, RunWhatIf } from "../../../model/types.ts";
import type { Shown } from "../../../model/words/presentation.ts";
import { FINAL, shownTo } from "../../../model/words/words.ts";
import { type Lens, lensOf, manyLoose } from "../view/lens.ts";
import { useForecast } from "../view/useForecast.ts";
import { HIDDEN, type Place } from "./usePlace.ts";
import type { Versions } from "./useVersions.ts";

/** The answer stands beside the graph where both have room; else it is a lens like graph and list. */
const BESIDE = "(min-width: 1100px) and (min-height: 561px)";
const BESIDE_A_TASK = "(min-width: 1560px) and (min-height: 561px)";

export interface Run {
  head: Head;
  /** The model of now, and that of the version which is looked at. */
  model: StreamModel;
  scene: StreamModel;
  fleet: StreamModel;
  /** It has ended. */
  final: boolean;
  /** Its plan is being made. */
  planned: boolean;
  /** Its state in a word. */
  shown: Shown;
  /** The tasks of the scene, those of them that the filter keeps, and those of now. */
  views: TaskView[];
  filtered: TaskView[];
  present: TaskView[];
  /** Its counts now, in which an open goal is one, however many steps it has; and those of the tasks of the scene. */
  tally: Tally;
  seen: Tally;
  /** The plan says of a task how its work is taken back. */
  undo: boolean;
  failed: TaskView[];
  /** Ready work waits, and none runs. */
  idle: boolean;
  /** The devices that have carried out its tasks. */
  used: Device[];
  answer: Answer | undefined;
  parts: AnswerPart[];
  /** The part that is open. */
  part: AnswerPart | undefined;
  /** There is room for the answer beside the graph, and it stands there. */
  roomy: boolean;
  beside: boolean;
  lens: Lens;
  forecast: RunWhatIf | null;
  phone: boolean;
  nowMs: number;
  /** The time of the last round. */
  tookMs: number;
}

export function useRun(head: Head, model: StreamModel, place: Place, versions: Versions): Run {
  const fleet = useFleet();
  const phone = usePhone();
  const mine = usePart();
  const kinds = boardOf(model, fleet).kinds();
  const final = FINAL.has(head.state);
  const planned = isPlanning(head);
  const found = answerNow(model, head, answer(model));
  // biome-ignore lint/correctness/useExhaustiveDependencies: plans change with the revision, too, and are read with it.
  const parts = useMemo(() => fullFirst(partsOf(found, specs(model))), [found, model.revision]);
  const roomy = useMedia(place.task ? BESIDE_A_TASK : BESIDE);
  const part =
    parts.find((one) => one.key === place.part) ??
    (final && place.part !== HIDDEN && versions.shown === null ? leading(parts) : undefined);
  const beside = roomy && part !== undefined;
  const lens = lensOf(place.lens, {
    planning: planned,
    answer: part !== undefined && !beside,
    part: place.part !== null,
    task: Boolean(place.task),
    failed: head.state === "failed" && !head.results?.length,
    listed: phone || manyLoose(kinds.loose),
  });
  const bounded = kinds.goals.length > 0 || Boolean(head.deadline_s || head.budget?.micros);
  const foreseen = head.state === "active" && (bounded || lens === "timeline");
  const forecast = useForecast(place.id, model, foreseen, lens === "timeline");
  const nowMs = useNow(final ? 0 : 1000);
  const scene = versions.past ?? model;
  useBoard(model, fleet);
  const views = allViews(scene, fleet);
  const present = versions.past ? allViews(model, fleet) : views;
  const tallies = useTallies();
  const now = tallies.now.of(present);
  const tally = tallies.pieces.of(counted(model, fleet, present));
  // Only a filter looks at the clock.
  const filteredMs = place.filter ? nowMs : 0;
  const kept = useMemo(
    () => (place.filter ? views.filter(readFilter(place.filter, filteredMs)) : views),
    [views, place.filter, filteredMs],
  );
  return {
    head,
    model,
    scene,
    fleet,
    final,
    planned,
    shown: shownTo(head, headShown(head, now, found), mine),
    views,
    filtered: kept,
    present,
    tally,
    seen: scene === model ? now : tallies.scene.of(views),
    undo: kinds.undo,
    failed: failedTasks(model, fleet),
    idle: !final && now.in("ready") > 0 && !now.works,
    used: devicesOf(now, fleet),
    answer: found,
    parts,
    part,
    roomy,
    beside,
    lens,
    forecast,
    phone,
    nowMs,
    tookMs: (head.ended_ms || nowMs) - roundBeganMs(head),
  };
}

/** The counts of this page, each going on from what it counted before. */
function useTallies(): { now: Tally; pieces: Tally; scene: Tally } {
  const [held] = useState(() => ({ now: new Tally(), pieces: new Tally(), scene: new Tally() }));
  return held;
}

const devicesOf = ({ used }: Tally, fleet: StreamModel): Device[] =>
  used.map((device) => fleet.of<Device>("device", device)).filter((device) => device !== undefined);
