import { render, screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { StreamModel } from "../../../model/stream/stream.ts";
import type { TaskView } from "../../../model/tasks/selectors.ts";
import type { StreamEvent } from "../../../model/types.ts";
import { TapCard } from "./TapCard.tsx";

const fleet = new StreamModel("fleet");
fleet.readSnapshot({ entities: {}, seq: 0 });
const puts = { "device/d-1": { id: "d-1", name: "handy", os: "browser" }, "device/d-2": { id: "d-2", os: "linux" } };
fleet.readEvents([{ seq: 1, puts, kind: "k", stream: "fleet" }] as unknown as StreamEvent[]);

const view = (device: string, deviceName: string, state = "running") =>
  ({
    name: "take",
    deviceName,
    record: { state, device },
    attempt: { leased_ms: 1_000, started_ms: 1_000, ended_ms: 0 },
    asOfMs: 0,
  }) as unknown as TaskView;

it("names the device on which a tap may be needed, once its call takes long", () => {
  const views = [view("d-1", "handy"), view("d-2", "atlas"), view("d-1", "handy", "succeeded")];
  const { rerender } = render(<TapCard views={views} fleet={fleet} nowMs={2_000} />);
  expect(screen.queryByRole("region", { name: "Waits for a tap" })).toBeNull();
  rerender(<TapCard views={views} fleet={fleet} nowMs={5_000} />);
  expect(screen.getByRole("region", { name: "Waits for a tap" }).textContent).toContain("Look at handy: a tap");
});
