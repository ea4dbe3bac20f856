import { render, screen } from "@testing-library/react";
import { expect, it, vi } from "vitest";
import { WorkspaceContext } from "../../app/workspace/context.ts";
import type { Workspace } from "../../app/workspace/workspace.ts";
import { type AnswerPart, partsOf } from "../../model/answer/parts.ts";
import { StreamModel } from "../../model/stream/stream.ts";
import { AnswerChips, PartView } from "./Answer.tsx";

it("names the device that a part of the answer came from", () => {
  const fleet = new StreamModel("fleet");
  fleet.readSnapshot({ seq: 1, entities: { "device/d-1": { id: "d-1", name: "attic" } } });
  const part: AnswerPart = {
    ...{ key: "room", title: "Room", kind: "value", from: "room.d-1", checked: true },
    ...{ empty: false, files: null, text: "3", lacks: "", shown: 0, of: 0 },
  };
  render(
    <WorkspaceContext value={{ fleet } as unknown as Workspace}>
      <PartView part={part} />
      <AnswerChips constellation="c-1" parts={[part]} onOpen={vi.fn()} />
    </WorkspaceContext>,
  );
  expect(screen.getByText("From room on attic, whose checks were all met.")).toBeTruthy();
  expect(screen.getByTitle("Room, from room on attic")).toBeTruthy();
});

it("says in words that a part has no value, and what its task waited for", () => {
  const fleet = new StreamModel("fleet");
  const item = { show: "value", task: "then", title: "Rows", value: "null", lacks: "first (failed)" };
  const [part] = partsOf({ items: [item], sentence: "", state: "final" }, new Map());
  if (!part) throw new Error("no part");
  render(
    <WorkspaceContext value={{ fleet } as unknown as Workspace}>
      <PartView part={part} />
    </WorkspaceContext>,
  );
  expect(screen.getByText("It gave no value: it waited for first (failed).")).toBeTruthy();
});
