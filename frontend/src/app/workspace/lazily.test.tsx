import { fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { lazily } from "./lazily.tsx";

const Part = ({ word }: { word: string }) => <b>{word}</b>;
let files: string[] | null = [];

beforeEach(() => {
  files = [];
  const answer = async () => {
    if (!files) throw new TypeError("away");
    return { ok: true, json: async () => ({ files }) };
  };
  vi.stubGlobal("fetch", vi.fn(answer));
});
afterEach(() => {
  vi.unstubAllGlobals();
  for (const one of document.scripts) one.remove();
});

/** A part whose first loads fail, beside a field with text. */
function draw(failing: number) {
  const load = vi.fn(async () => {
    if (load.mock.calls.length <= failing) throw new TypeError("Importing a module script failed.");
    return { default: Part };
  });
  const Lazy = lazily("The graph", load, (module) => module.default);
  const page = (shown = true) => (
    <>
      <input aria-label="Words" />
      {shown && <Lazy word="drawn" waiting={<p>Drawing.</p>} />}
    </>
  );
  const { rerender } = render(page());
  fireEvent.change(screen.getByLabelText("Words"), { target: { value: "typed before" } });
  return { load, show: (shown: boolean) => rerender(page(shown)) };
}

const again = () => fireEvent.click(screen.getByRole("button", { name: "Try again" }));

it("says in the part's place that it was lost, asks again by a press, and keeps the text beside it", async () => {
  const { load } = draw(1);
  expect(screen.getByText("Drawing.")).toBeTruthy();
  expect((await screen.findByRole("alert")).textContent).toContain("The graph could not be loaded.");
  expect(screen.getByRole("alert").textContent).toContain("lost on the way");
  again();
  expect(await screen.findByText("drawn")).toBeTruthy();
  expect(load).toHaveBeenCalledTimes(2);
  expect((screen.getByLabelText("Words") as HTMLInputElement).value).toBe("typed before");
});

it("offers a reload where the file does not come again, and asks again where the part is opened again", async () => {
  const { show } = draw(2);
  await screen.findByRole("alert");
  expect(screen.queryByRole("button", { name: "Reload the page" })).toBeNull();
  again();
  expect(await screen.findByRole("button", { name: "Reload the page" })).toBeTruthy();
  show(false);
  show(true);
  expect(await screen.findByText("drawn")).toBeTruthy();
});

it("tells another build and a hub that is away from a lost file", async () => {
  const own = document.createElement("script");
  own.type = "module";
  own.src = "/assets/index-old.js";
  document.body.append(own);
  files = ["/assets/index-new.js"];
  const { show } = draw(2);
  expect((await screen.findByRole("alert")).textContent).toContain("was upgraded");
  expect(screen.queryByRole("button", { name: "Try again" })).toBeNull();
  files = null;
  show(false);
  show(true);
  expect((await screen.findByRole("alert")).textContent).toContain("The hub does not answer.");
});
