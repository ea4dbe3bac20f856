// @vitest-environment jsdom
/** What a person sees and taps: each kind of question, each refusal of a hub, the way to decline. */
import { cleanup, configure, render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Agent } from "../agent/agent.ts";
import { isRemoved } from "../agent/connection.ts";
import { JoinRefused, join, nameOf } from "../agent/joining.ts";
import type { OpenQuestion } from "../agent/questions.ts";
import type { Opened } from "../boot.ts";
import { codeHash, fromBase64, shortWords } from "../protocol/proof.ts";
import { type Question, ToolFailed } from "../tools/interface.ts";
import { Device } from "./Device.tsx";
import { Switch } from "./parts.tsx";
import { QuestionCard } from "./QuestionCard.tsx";
import { Removed } from "./Removed.tsx";

configure({ asyncUtilTimeout: 5000 * Number(process.env.TESTS_SLOWER ?? 1) }); // a busy machine draws slowly
afterEach(() => cleanup());

function asked(question: Question, by = { by: "", words: "" }) {
  const given: unknown[] = [];
  const declined: Error[] = [];
  const open: OpenQuestion = {
    at: { attempt: 1, constellation: "c", incarnation: 1, task: "t" },
    id: "q1",
    tool: "ask",
    asked: by,
    question,
    answer: (value) => given.push(value),
    decline: (error) => declined.push(error),
  };
  render(<QuestionCard open={open} />);
  return { given, declined, user: userEvent.setup() };
}

describe("a question", () => {
  it("with choices is answered by a tap, and declined by another", async () => {
    const { given, declined, user } = asked({ kind: "choice", text: "Tea?", choices: ["Yes", "Later"] });
    await user.click(screen.getByRole("button", { name: "Later" }));
    expect(given).toEqual(["Later"]);
    await user.click(screen.getByRole("button", { name: "Decline" }));
    expect(declined[0]).toBeInstanceOf(ToolFailed);
    expect((declined[0] as ToolFailed).code).toBe("declined");
  });

  it.each([
    ["person:ann", "ann"],
    ["assistant:claude", "The assistant claude"],
    ["engine", "The hub"],
  ])("says that %s asked for it, with the words as text", (by, name) => {
    const words = "ask <b>pocket</b>";
    asked({ kind: "line", text: "Where?" }, { by, words });
    const said = screen.getByText((_, one) => one?.className === "asker");
    expect(said.textContent).toBe(`${name} asked for ${words}`);
    expect(said.querySelector("b")).toBeNull();
  });

  it("of a hub that does not say who asked names nobody", () => {
    asked({ kind: "line", text: "Where?" });
    expect(screen.queryByText(/asked for/)).toBeNull();
  });

  it("for a line takes no empty one", async () => {
    const { given, user } = asked({ kind: "line", text: "Where?" });
    expect(screen.getByRole("button", { name: "Send" })).toHaveProperty("disabled", true);
    await user.type(screen.getByLabelText("Your answer"), "in the shed{Enter}");
    expect(given).toEqual(["in the shed"]);
  });

  it("for files gives them with names and media", async () => {
    const { given, user } = asked({ kind: "files", text: "Which?", accept: "image/*", many: true });
    const field = screen.getByLabelText("Choose files");
    await user.upload(field, [
      new File(["a"], "a.png", { type: "image/png" }),
      new File(["b"], "b.png", { type: "image/png" }),
    ]);
    expect(given[0]).toMatchObject([{ name: "a.png", media: "image/png" }, { name: "b.png" }]);
  });

  it("for a picture falls back to the camera app where the page has no camera", async () => {
    const { given, user } = asked({ kind: "picture", text: "The receipt", facing: "environment" });
    expect(screen.queryByRole("button", { name: "Open the camera" })).toBeNull();
    await user.upload(screen.getByLabelText("Open the camera app"), new File(["x"], "p.jpg", { type: "image/jpeg" }));
    expect(given[0]).toMatchObject([{ name: "p.jpg" }]);
  });

  it("for a picture leaves no camera on that was allowed after the question had gone", async () => {
    const stop = vi.fn();
    let allow: (stream: unknown) => void = () => {};
    const getUserMedia = () => new Promise((resolve) => (allow = resolve));
    Object.defineProperty(navigator, "mediaDevices", { configurable: true, value: { getUserMedia } });
    try {
      const { user } = asked({ kind: "picture", text: "The receipt", facing: "environment" });
      await user.click(screen.getByRole("button", { name: "Open the camera" }));
      cleanup();
      allow({ getTracks: () => [{ stop }] });
      await vi.waitFor(() => expect(stop).toHaveBeenCalledTimes(1));
    } finally {
      Reflect.deleteProperty(navigator, "mediaDevices");
    }
  });

  it("that acts does so in the tap, and a failure of it is the call's", async () => {
    const failed = new ToolFailed("policy_refused", "no");
    const { declined, user } = asked({
      kind: "tap",
      text: "Copy",
      button: "Copy",
      shown: "secret words",
      act: () => Promise.reject(failed),
    });
    expect(screen.getByText("secret words")).toBeTruthy();
    await user.click(screen.getByRole("button", { name: "Copy" }));
    expect(declined).toEqual([failed]);
  });
});

describe("a switch", () => {
  const drawn = (on: boolean, cannot: string) => {
    const changed = vi.fn();
    render(
      <ul>
        <Switch label="Share" about="hand things to another app" cannot={cannot} on={on} onChange={changed} />
      </ul>,
    );
    return { changed, button: screen.getByRole("switch") as HTMLInputElement };
  };

  it("is as its owner put it, and changes by a tap", async () => {
    const { changed, button } = drawn(true, "");
    expect(button.checked).toBe(true);
    await userEvent.setup().click(button);
    expect(changed).toHaveBeenCalledWith(false);
  });

  it("of something that this browser does not have stands off, whatever was kept, and does not change", async () => {
    const { changed, button } = drawn(true, "this browser cannot share with other apps");
    expect(button.checked).toBe(false);
    expect(screen.getByText("Not here: this browser cannot share with other apps")).toBeTruthy();
    await userEvent.setup().click(button);
    expect(changed).not.toHaveBeenCalled();
  });
});

describe("work that runs here", () => {
  it("says how much of a file is sent beside an open question, and is stopped by a tap", async () => {
    const stop = vi.fn();
    const at = { attempt: 1, constellation: "c", incarnation: 1, task: "t" };
    const told = { note: "a.mov", doneBytes: 5_000_000, totalBytes: 12_000_000 };
    const question: Question = { kind: "line", text: "Where?" };
    const open = { id: "q", at: { ...at, task: "q" }, tool: "ask", asked: { by: "", words: "" }, question };
    const running = [{ at, tool: "file.pick", told, stop }];
    const view = { name: "pocket", link: { state: "online" }, questions: [open], running, recent: [] };
    const notices = [{ id: "n", title: "Backup", text: "It is done." }];
    const whole = { ...view, notices, policy: {}, trouble: "" };
    const agent = { subscribe: () => () => {}, view: () => whole } as unknown as Agent;
    const opened = { code: null, joined: null, identity: { device: "d-1", sealed: true } } as unknown as Opened;
    render(<Device opened={opened} agent={agent} />);
    const card = screen.getByText("a.mov").closest("li");
    expect(card?.textContent).toContain("41 % 5.0 MB of 12 MB");
    expect(screen.getByRole("progressbar", { name: "Sent to the hub" }).closest("[aria-live]")).toBeNull();
    const news = screen.getByText("It is done.");
    expect(
      card && card.compareDocumentPosition(news) & Node.DOCUMENT_POSITION_FOLLOWING,
      "news stand below",
    ).toBeTruthy();
    await userEvent.setup().click(screen.getByRole("button", { name: "Stop file.pick" }));
    expect(stop).toHaveBeenCalledOnce();
  });
});

describe("a device that was removed", () => {
  const ended = { reason: "pocket was revoked on this hub", fix: "", retryAfterS: 0, final: true };
  const drawn = (code: string | null) => {
    const empty = vi.fn(async () => {});
    const opened = { code, store: { empty } } as unknown as Opened;
    render(<Removed opened={opened} why={{ ...ended, code: "device_revoked" }} />);
    return empty;
  };

  it("says so, and how it joins again", async () => {
    const empty = drawn(null);
    expect(screen.getByText("This device was removed from the fleet")).toBeTruthy();
    expect(screen.getByText("pocket was revoked on this hub. Nothing is asked of it any more.")).toBeTruthy();
    expect(screen.getByText(/open Fleet at the hub, choose Add device, and scan the code/)).toBeTruthy();
    await userEvent.setup().click(screen.getByRole("button", { name: "Join again" }));
    expect(empty).toHaveBeenCalledOnce();
  });

  it("joins again with the code of its address", async () => {
    const empty = drawn("ab-c1");
    await userEvent.setup().click(screen.getByRole("button", { name: "Join again with this code" }));
    expect(empty).toHaveBeenCalledOnce();
    expect(location.hash).toBe("#join=ab-c1");
    history.replaceState(null, "", location.pathname);
  });

  it("shows no switch and asks nothing, since neither has an effect any more", () => {
    const link = { state: "stopped", why: { ...ended, code: "device_revoked" } };
    const view = { name: "pocket", link, notices: [], questions: [], running: [], recent: [], policy: {}, trouble: "" };
    const agent = { subscribe: () => () => {}, view: () => view } as unknown as Agent;
    const opened = { code: null, joined: null, identity: { device: "d-1", sealed: true } } as unknown as Opened;
    render(<Device opened={opened} agent={agent} />);
    expect(screen.getByRole("heading", { name: "This device was removed from the fleet" })).toBeTruthy();
    expect(screen.queryByText("What others may do here")).toBeNull();
    expect(screen.getAllByRole("button").map((one) => one.textContent)).toEqual(["Join again"]);
  });

  it("is not one whose connection another tab has taken", () => {
    expect(isRemoved({ ...ended, code: "taken_over" })).toBe(false);
    expect(isRemoved({ ...ended, code: "unknown_key" })).toBe(true);
  });
});

describe("joining", () => {
  const raw = new Uint8Array(32).fill(7);
  const identity = {
    key: btoa(String.fromCharCode(...raw)),
    raw,
    device: "d-1",
    instance: "i",
    sealed: true,
    sign: vi.fn(),
  };
  const hub = btoa(String.fromCharCode(...new Uint8Array(32).fill(9)));
  const words = shortWords(fromBase64(hub), raw, codeHash("ab-c1"));
  const answers = (...bodies: [number, object][]) => {
    const left = [...bodies];
    return (async () => {
      const [status, body] = left.shift() ?? [500, {}];
      return new Response(JSON.stringify(body), { status });
    }) as unknown as typeof fetch;
  };
  const terms = (request: typeof fetch, said: string[] = []) => ({
    onWords: (text: string) => said.push(text),
    signal: new AbortController().signal,
    request,
    pause: async () => {},
  });

  it("shows the words that both sides work out, and waits for the approval", async () => {
    const said: string[] = [];
    const asking = { state: "asking", hub_key: hub, enrollment: "e-1", words };
    const request = answers([202, asking], [200, asking], [200, { state: "approved", hub_key: hub, name: "pocket" }]);
    // Case, spaces and dashes of a code do not count, and 1 is read as I.
    const rules: (string | null)[] = [];
    const heard = ((path: string, init: RequestInit) => {
      rules.push(new Headers(init.headers).get("X-Starloom-Words"));
      return request(path, init);
    }) as typeof fetch;
    const joined = await join({ code: "ABCI", name: "x" }, identity, terms(heard, said));
    expect(rules).toEqual(["once", "once", "once"]);
    expect(joined).toEqual({ hubKey: hub, name: "pocket" });
    expect(said).toEqual([words]);
  });

  it.each([
    [
      "a bad code",
      [[404, { reason: "there is no such join code", hint: "Scan again." }]],
      "there is no such join code",
    ],
    ["a denial", [[200, { state: "denied", hub_key: hub, reason: "the owner denied it" }]], "the owner denied it"],
    ["words of somebody between", [[202, { state: "asking", hub_key: hub, words: "other" }]], "do not fit the keys"],
    ["a hub without a key", [[202, { state: "asking" }]], "no key of its own"],
  ] as [string, [number, object][], string][])("tells %s and the way out", async (_what, bodies, reason) => {
    const refused = await join({ code: "ABCI", name: "x" }, identity, terms(answers(...bodies))).catch(
      (e: unknown) => e,
    );
    expect(refused).toBeInstanceOf(JoinRefused);
    expect((refused as JoinRefused).message).toContain(reason);
    expect((refused as JoinRefused).hint).not.toBe("");
  });

  it("names the device after its system and browser", () => {
    expect(nameOf("Mozilla/5.0 (Linux; Android 15; Pixel 7) Chrome/140 Mobile Safari/537")).toBe(
      "Android phone Chrome",
    );
    expect(nameOf("Mozilla/5.0 (Linux; Android 15; SM-X710) Chrome/140 Safari/537")).toBe("Android tablet Chrome");
    expect(nameOf("Mozilla/5.0 (iPhone; CPU iPhone OS 19 like Mac OS X) Version/19 Mobile Safari/604")).toBe(
      "iPhone Safari",
    );
  });
});
