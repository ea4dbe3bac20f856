/** The log behind a live model is read as far as the model has not heard it, and no further. */
import { act, render } from "@testing-library/react";
import { expect, it } from "vitest";
import { WorkspaceContext } from "../../../app/workspace/context.ts";
import type { Workspace } from "../../../app/workspace/workspace.ts";
import { Hub } from "../../../link/endpoints.ts";
import type { Rest } from "../../../link/rest.ts";
import { StreamModel } from "../../../model/stream/stream.ts";
import type { StreamEvent } from "../../../model/types.ts";
import { useFeedPast } from "./past.ts";

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
  return (
    <WorkspaceContext value={{ hub } as unknown as Workspace}>
      <Reader model={model} wanted={wanted} />
    </WorkspaceContext>
  );
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
