/** The focus of the keyboard never falls off the page: it goes back, to the next item, or to the new heading. */
import { act, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openPage } from "../../../dev/openPage.tsx";
import { CONSTELLATION } from "../../../dev/scenario.ts";

beforeEach(() => {
  vi.stubGlobal("requestAnimationFrame", (run: () => void) => setTimeout(run, 0));
});
afterEach(() => vi.unstubAllGlobals());

const focused = () => document.activeElement as HTMLElement;

describe("the focus", () => {
  it("goes back to its control when the palette, the keys or a question is closed", async () => {
    openPage(`/constellations/${CONSTELLATION}?lens=list`);
    const cancel = await screen.findByRole("button", { name: "Cancel" });
    act(() => cancel.focus());
    for (const keys of ["{Control>}k{/Control}", "?"]) {
      await userEvent.keyboard(keys);
      const dialog = await screen.findByRole("dialog");
      act(() => void dialog.dispatchEvent(new Event("cancel", { cancelable: true })));
      await waitFor(() => expect(focused()).toBe(cancel));
    }
    await userEvent.keyboard("{Enter}");
    await userEvent.click(within(await screen.findByRole("dialog")).getByRole("button", { name: "Keep as it is" }));
    await waitFor(() => expect(focused()).toBe(cancel));
  });

  it("goes to the heading of a page that was opened by its control", async () => {
    openPage("/new");
    await userEvent.click(await screen.findByRole("textbox"));
    await userEvent.paste("Back up the pictures of my phone to the server");
    await screen.findByText("What will run");
    await userEvent.keyboard("{Control>}{Enter}{/Control}");
    await waitFor(() => expect(location.pathname).toBe(`/constellations/${CONSTELLATION}`));
    await waitFor(() => expect(focused().tagName).toBe("H1"));
  });

  it("goes to the first row when the plan is edited", async () => {
    openPage(`/constellations/${CONSTELLATION}?lens=list`);
    const edit = await screen.findByRole("button", { name: "Edit plan" });
    act(() => edit.focus());
    await userEvent.keyboard("{Enter}");
    const first = await screen.findByRole("button", { name: /^Row 1, / }, { timeout: 8000 });
    await waitFor(() => expect(focused()).toBe(first));
  });

  it("goes to the next question when one is answered", async () => {
    openPage("/inbox", { question: true, questions: 3 });
    const [first] = await screen.findAllByRole("button", { name: "Copy" });
    act(() => first?.focus());
    await userEvent.keyboard("{Enter}");
    await waitFor(() => expect(screen.getAllByRole("button", { name: "Copy" })).toHaveLength(2));
    await waitFor(() => expect(focused().getAttribute("aria-label")).toMatch(/^Question: /));
    await userEvent.tab();
    expect(focused().closest('[aria-label^="Question: "]')).not.toBeNull();
  });

  it("goes to the heading when nothing is left to answer", async () => {
    openPage("/inbox", { question: true });
    const copy = await screen.findByRole("button", { name: "Copy" });
    act(() => copy.focus());
    await userEvent.keyboard("{Enter}");
    await waitFor(() => expect(screen.queryByRole("button", { name: "Copy" })).toBeNull());
    await waitFor(() => expect(focused().tagName).toMatch(/^H[12]$/));
  });

  it("follows the keys into the task and goes back when it is closed", async () => {
    openPage(`/constellations/${CONSTELLATION}?lens=list`);
    await screen.findByRole("list", { name: "Tasks" });
    const list = screen.getByRole("tab", { name: "List" });
    act(() => list.focus());
    await userEvent.keyboard("j");
    const inspector = await screen.findByRole("complementary", { name: /^Task / });
    await waitFor(() => expect(focused()).toBe(within(inspector).getByRole("heading", { level: 2 })));
    await userEvent.keyboard("{Escape}");
    await waitFor(() => expect(focused()).toBe(list));
  });

  it("goes from a retry that was pressed to the title, not to the deed that took its place", async () => {
    const hub = openPage("/constellations/c-failed?lens=list");
    const retry = await screen.findByRole("button", { name: /^Retry send/ });
    act(() => retry.focus());
    const entities = hub.entities("c-failed");
    const again = (state: string) => ({ ...(entities.get("task/send.3") ?? {}), state });
    act(() =>
      hub.publish("c-failed", "retried", {
        head: { ...(entities.get("head") ?? {}), ended_ms: 0, state: "active" },
        "task/send.3": again("ready"),
      }),
    );
    await waitFor(() => expect(retry.isConnected).toBe(false));
    await waitFor(() => expect(focused().tagName).toBe("H1"));
  });

  it("is not taken from a person who clicked beside every control", async () => {
    const hub = openPage(`/constellations/${CONSTELLATION}?lens=list`);
    const cancel = await screen.findByRole("button", { name: "Cancel" });
    act(() => cancel.focus());
    await userEvent.click(screen.getByRole("list", { name: "Tasks" }));
    expect(focused().id).toBe("main");
    const head = hub.entities(CONSTELLATION).get("head") ?? {};
    act(() => hub.publish(CONSTELLATION, "cancelled", { head: { ...head, ended_ms: hub.now(), state: "cancelled" } }));
    await waitFor(() => expect(cancel.isConnected).toBe(false));
    expect(focused().id).toBe("main");
  });

  it("skips the menu by the first stop of the page", async () => {
    openPage("/");
    await screen.findByRole("heading", { name: "Home" });
    act(() => focused().blur());
    await userEvent.tab();
    expect(focused().textContent).toBe("Skip to the content");
    await userEvent.keyboard("{Enter}");
    expect(focused().id).toBe("main");
    expect(location.pathname).toBe("/");
  });
});
