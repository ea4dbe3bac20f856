/** A run of a recipe begins again at the page of the recipe, with its values in the form. */
import { act, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { openPage } from "../../../../dev/openPage.tsx";
import { CONSTELLATION } from "../../../../dev/scenario.ts";

it("takes the recipe and the values of the run along", async () => {
  const hub = openPage(`/constellations/${CONSTELLATION}?lens=list`);
  await screen.findByRole("list", { name: "Tasks" });
  expect(screen.queryByRole("button", { name: "Run again" })).toBeNull();
  const head = hub.entities(CONSTELLATION).get("head") ?? {};
  const ended = { ended_ms: 1_790_000_000_000, params: '{"folder":"Papers","gone":1}', recipe: "photo-backup" };
  act(() => hub.publish(CONSTELLATION, "ended", { head: { ...head, ...ended, state: "succeeded" } }));
  await userEvent.click(await screen.findByRole("button", { name: "Run again" }));
  expect(location.pathname).toBe("/recipes/photo-backup");
  const values = new URLSearchParams(location.search).get("values");
  expect(JSON.parse(values ?? "")).toEqual({ folder: "Papers", gone: 1 });
});

it("fills the form of a recipe with what it still takes", async () => {
  const where = { sheet: true, source: { id: "d-phone" }, target: { id: "d-server" } };
  const values = encodeURIComponent(JSON.stringify({ ...where, folder: "Papers", gone: 1 }));
  const hub = openPage(`/recipes/photo-backup?values=${values}`);
  expect((await screen.findByRole<HTMLInputElement>("textbox", { name: /folder/i })).value).toBe("Papers");
  const previews = () => hub.calls.filter(({ path }) => path === "/constellations/preview");
  await waitFor(() => expect(previews()).not.toEqual([]));
  // The fleet may have come in between: the preview is made again then.
  for (const { body } of previews()) {
    expect(body).toMatchObject({ recipe: "photo-backup", params: { ...where, folder: "Papers" } });
    expect(JSON.stringify(body)).not.toContain("gone");
  }
});

it("begins with an empty form where the address has another text", async () => {
  openPage("/recipes/photo-backup?values=[1");
  expect((await screen.findByRole<HTMLInputElement>("textbox", { name: /folder/i })).value).toBe("Pictures");
});
