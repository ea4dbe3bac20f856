/** Drafts in rows: each document has its own, as it is typed, until it is launched, saved or begun again. */
import { act, cleanup, fireEvent, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { openPage } from "../../../../dev/openPage.tsx";

beforeEach(() => {
  vi.stubGlobal("requestAnimationFrame", (run: () => void) => setTimeout(run, 0));
});
afterEach(() => vi.unstubAllGlobals());

const OWN = "/new?way=build";
const RECIPE = "/new?way=build&recipe=disk-space";
const TITLE = "Biggest folders per device";
const HALF = "starloom: 1\nname: mine\ntasks:\n  - id: one\n    args: {a: [1, 2\n";

/** The page as a reload or another address shows it. */
function open(path: string) {
  cleanup();
  return openPage(path);
}
const title = () => screen.findByLabelText<HTMLInputElement>("Name of the plan", {}, { timeout: 8000 });
const call = async (name: string) => fireEvent.change(await title(), { target: { value: name } });
const button = (name: string) => screen.getByRole("button", { name });
const lens = (name: string) => userEvent.click(screen.getByRole("tab", { name }));
const text = () => screen.getByRole<HTMLTextAreaElement>("textbox", { name: "Plan, as YAML or JSON" });

it("stay while a recipe is looked at in rows", async () => {
  open(OWN);
  await call("My ten rows");
  open(RECIPE);
  expect((await title()).value).toBe(TITLE);
  open(OWN);
  expect((await title()).value).toBe("My ten rows");
});

it("of a recipe are there after a reload, said to be changes, and taken back by starting over", async () => {
  open(RECIPE);
  await call("Changed by me");
  open(RECIPE);
  expect((await title()).value).toBe("Changed by me");
  expect(screen.getByText(/These are your changes of last time/)).toBeTruthy();
  await userEvent.click(button("Start over"));
  expect((await title()).value).toBe(TITLE);
  open(RECIPE);
  expect((await title()).value).toBe(TITLE);
  expect(screen.queryByText(/These are your changes of last time/)).toBeNull();
});

it("wait for the same person after a session that ended", async () => {
  const hub = open(OWN);
  await call("An evening's work");
  hub.sessionEnded = true;
  act(() => history.pushState(null, "", "/recipes"));
  await screen.findAllByText(/starloom open/);
  open(OWN);
  expect((await title()).value).toBe("An evening's work");
});

it("hold a text with a fault on every lens and after a reload, and start nothing else meanwhile", async () => {
  open(OWN);
  await title();
  await lens("Text");
  fireEvent.change(text(), { target: { value: HALF } });
  expect(screen.queryByRole("tab", { name: "JSON" }), "it has no other form yet").toBeNull();
  await lens("Rows");
  expect(screen.getByText(/The text has a fault in line/)).toBeTruthy();
  expect(button("Save as recipe").getAttribute("title")).toMatch(/^Correct line \d of the text first/);
  await userEvent.click(button("To the text"));
  expect(text().value).toBe(HALF);
  open(OWN);
  await title();
  await lens("Text");
  expect(text().value).toBe(HALF);
  fireEvent.change(text(), { target: { value: `${HALF.trimEnd()}]}\n# mine\n` } });
  expect((await title()).value).toBe("mine");
  await lens("Rows");
  await lens("Text");
  expect(text().value, "as it was typed").toContain("# mine");
  await lens("JSON");
  expect(text().value).toContain('"name": "mine"');
});

it("give a text with a fault back by undo, after a change in rows took its place", async () => {
  open(OWN);
  await title();
  await lens("Text");
  fireEvent.change(text(), { target: { value: HALF } });
  await call("Changed in rows");
  expect(text().value).toContain("name: Changed in rows");
  await userEvent.keyboard("{Control>}z{/Control}");
  expect(text().value).toBe(HALF);
  await userEvent.keyboard("{Control>}{Shift>}z{/Shift}{/Control}");
  await waitFor(async () => expect((await title()).value).toBe("Changed in rows"));
});

it("offer to take along the rows that follow a row to another device", async () => {
  open(OWN);
  await title();
  await lens("Text");
  const row = (id: string, device: string, from: string) =>
    `  - id: ${id}\n    tool: fs.hash\n    device: {name: ${device}}\n    inputs: {files: {from: ${from}, output: /files}}\n`;
  const rows = row("copy", "demo-server", "find") + row("check", "demo-server", "copy");
  const plan = `starloom: 1\nname: moved\ntasks:\n  - {id: find, tool: fs.find}\n${rows}`;
  fireEvent.change(text(), { target: { value: plan } });
  await lens("Rows");
  const where = (number: number) => screen.getByLabelText<HTMLSelectElement>(`Where row ${number} runs`);
  act(() => where(2).focus());
  fireEvent.change(where(2), { target: { value: JSON.stringify({ kind: "device", name: "demo-phone" }) } });
  expect(await screen.findByText("Row 3, which follows it, still runs on demo-server.")).toBeTruthy();
  await userEvent.click(button("Run it on demo-phone too"));
  expect(JSON.parse(where(3).value)).toEqual({ kind: "device", name: "demo-phone" });
  expect(screen.queryByText(/still runs on demo-server/)).toBeNull();
  await userEvent.keyboard("{Control>}zz{/Control}");
  await waitFor(() => expect(JSON.parse(where(2).value).name).toBe("demo-server"));
  expect(screen.queryByText(/still runs on/)).toBeNull();
});
