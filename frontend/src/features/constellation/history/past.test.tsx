/** The log behind a live model is read as far as the model has not heard it, and no further. */
import { act, render } from "@testing-library/react";
import type { ReactNode } from "react";
import { expect, it } from "vitest";
import { WorkspaceContext } from "../../../app/workspace/context.ts";
import type { Workspace } from "../../../app/workspace/workspace.ts";
import { Hub } from "../../../link/endpoints.ts";
import type { Rest } from "../../../link/rest.ts";
import { StreamModel } from "../../../model/stream/stream.ts";
import type { StreamEvent } from "../../../model/types.ts";
import { useFeedPast, useLog, usePast } from "./past.ts";

const event = (seq: number): StreamEvent => ({ seq, at_ms: seq, by: "engine", kind: "x", stream: "c-1", puts: {} });

/** A hub whose log grows by an event with each answer, as that of a run which goes on does. */
function growing(seq: number) {
  const asked: { after: number; limit: number }[] = [];
  let last = seq;
  const get = async (_path: string, { query }: { query: { after: number; limit: number } }) => {
    asked.push(query);
    if (asked.length > 20) throw new Error("it reads after a log that goes on");
    last += 1;
    const from = query.after + 1;
    const count = Math.min(query.limit, last - query.after);
    return { items: Array.from({ length: count }, (_, at) => event(from + at)), next: from + count - 1 };
  };
  return { asked, hub: new Hub({ get } as unknown as Rest) };
}

function Reader({ model, wanted }: { model: StreamModel; wanted: boolean }) {
  useFeedPast("c-1", model, wanted);
  return null;
}

function page(hub: Hub, model: StreamModel, wanted: boolean) {
  return within(hub, model, <Reader model={model} wanted={wanted} />);
}

function within(hub: Hub, model: StreamModel, children: ReactNode) {
  const workspace = { hub, acquire: () => model, release: () => {} } as unknown as Workspace;
  return <WorkspaceContext value={workspace}>{children}</WorkspaceContext>;
}

function running(): StreamModel {
  const model = new StreamModel("c-1");
  model.readSnapshot({ entities: {}, seq: 1000 });
  model.readEvents([event(1001), event(1002)]);
  return model;
}

it("stops at the first event that the stream has brought", async () => {
  const { asked, hub } = growing(1002);
  const model = running();
  await act(async () => void render(page(hub, model, true)));
  expect(asked).toEqual([{ after: 600, limit: 400 }]);
  expect(model.events.map(({ seq }) => seq)).toEqual(Array.from({ length: 402 }, (_, at) => 601 + at));
});

it("reads nothing before something shows what happened", async () => {
  const { asked, hub } = growing(1002);
  const model = running();
  const shown = render(page(hub, model, false));
  await act(async () => {});
  expect(asked).toEqual([]);
  await act(async () => shown.rerender(page(hub, model, true)));
  expect(asked).toHaveLength(1);
});

/** A version as it is looked at: the last event that its fold has. */
function Version({ model, version, seen }: { model: StreamModel; version: number | null; seen: (number | null)[] }) {
  const past = usePast(useLog("c-1", model, version), "c-1", version);
  seen.push(past?.seq ?? null);
  return null;
}

it("reads the log again for a version that came after the model forgot what follows the first reading", async () => {
  const log: StreamEvent[] = Array.from({ length: 6000 }, (_, at) => event(at + 1));
  const versionAt = (seq: number, number: number) =>
    log.splice(seq - 1, 1, { ...event(seq), puts: { [`version/${number}`]: { number } as never } });
  versionAt(1, 1);
  versionAt(5000, 2);
  const asked: number[] = [];
  const hub = {
    events: async (_id: string, after: number, _signal: AbortSignal, upTo: number) => {
      asked.push(upTo);
      return log.slice(after, upTo);
    },
  } as unknown as Hub;
  const model = new StreamModel("c-1");
  model.readSnapshot({ entities: {}, seq: 0 });
  model.readEvents(log.slice(0, 100));
  const seen: (number | null)[] = [];
  const at = (version: number | null) => within(hub, model, <Version {...{ model, version, seen }} />);
  const shown = render(at(null));
  await act(async () => shown.rerender(at(1)));
  expect(seen.at(-1)).toBe(100);
  for (let from = 100; from < 6000; from += 50) act(() => void model.readEvents(log.slice(from, from + 50)));
  await act(async () => shown.rerender(at(2)));
  expect(seen.at(-1)).toBe(6000);
  await act(async () => shown.rerender(at(1)));
  expect(seen.at(-1)).toBe(4999);
  expect(asked).toEqual([100, 6000]);
});
