import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { StreamModel } from "../../../model/stream/stream.ts";
import type { StreamEvent } from "../../../model/types.ts";
import { UsedDevices } from "./Summary.tsx";

const IDS = Array.from({ length: 9 }, (_, at) => `d-${at + 1}`);

it("shows every device in use on a press, those at work first", async () => {
  const fleet = new StreamModel("fleet");
  fleet.readSnapshot({ entities: {}, seq: 0 });
  const puts = Object.fromEntries(
    IDS.map((id, at) => [`device/${id}`, { id, name: `desk-0${at + 1}`, link: "online", joined_ms: at + 1 }]),
  );
  fleet.readEvents([{ seq: 1, puts, kind: "k", stream: "fleet" }] as unknown as StreamEvent[]);
  const onDevices = new Map(IDS.map((id) => [id, { working: id === "d-8" ? 1 : 0 }])) as never;
  render(<UsedDevices tally={{ onDevices }} fleet={fleet} />);
  const named = () => screen.getAllByText(/^desk-/).map((one) => one.textContent);
  expect(named()).toHaveLength(4);
  expect(named()[0]).toMatch(/^.*desk-08/);
  await userEvent.click(screen.getByRole("button", { name: "and 5 more" }));
  expect(named()).toHaveLength(9);
  await userEvent.click(screen.getByRole("button", { name: "Fewer" }));
  expect(named()).toHaveLength(4);
});
