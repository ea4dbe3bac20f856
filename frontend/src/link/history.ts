/** The calls that go back and look back: forks, undoing, blame, the record of activity. */
import type { BodyOf, Given, Rest } from "./rest.ts";

type ActivityQuery = NonNullable<Given<"get", "/audit">["query"]>;
type Fork = BodyOf<"post", "/constellations/{constellation}/fork">;

export const history = {
  activity: (rest: Rest, query: ActivityQuery, signal?: AbortSignal) => rest.get("/audit", { query, signal }),
  verify: (rest: Rest) => rest.get("/audit/verify"),
  blame: (rest: Rest, constellation: string, task: string, signal?: AbortSignal) =>
    rest.get("/constellations/{constellation}/blame", { path: { constellation }, query: { task }, signal }),
  fork: (rest: Rest, constellation: string, from: Fork, confirm?: string[]) =>
    rest.create("/constellations/{constellation}/fork", {
      path: { constellation },
      body: confirm?.length ? { ...from, confirm } : from,
    }),
  undo: (rest: Rest, constellation: string, tasks: string[]) =>
    rest.create("/constellations/{constellation}/undo", { path: { constellation }, body: { tasks } }),
  /** Changes nothing: tells what an undo would take back, or why it is refused. */
  wouldUndo: (rest: Rest, constellation: string, tasks: string[]) =>
    rest.create("/constellations/{constellation}/undo", { path: { constellation }, body: { tasks, preview: true } }),
  takeBack: (rest: Rest, constellation: string, version: number) =>
    rest.create("/constellations/{constellation}/edits", {
      path: { constellation },
      body: { base_version: version, operations: [{ undo: { version } }] },
    }),
};
