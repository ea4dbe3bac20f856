/** A person is invited on the page, and an invitation whose link was used is no longer in the list. */
import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { openPage as open } from "../../../../dev/openPage.tsx";
import { mayWords, PRESETS, presetOf, roleOf, scopesOf, whyNotYet } from "./allowed.ts";
import { onlyHere } from "./Invite.tsx";

it("makes a link for a name and a role, and one for the network with its QR code", async () => {
  const hub = open("/settings");
  await userEvent.click(await screen.findByRole("button", { name: "Invite a person" }));
  const dialog = screen.getByRole("dialog", { hidden: true });
  const make = within(dialog).getByRole("button", { name: "Make the link", hidden: true });
  expect(make.getAttribute("aria-disabled")).toBe("true");
  await userEvent.type(within(dialog).getByLabelText("Name"), "anna");
  await userEvent.selectOptions(within(dialog).getByLabelText("They may"), "operator");
  await userEvent.click(make);
  expect(await screen.findByText("http://127.0.0.1:8470/#/sign-in/sli1.secret")).toBeTruthy();
  expect(screen.queryByRole("img", { name: /^The link for anna/, hidden: true })).toBeNull();
  await userEvent.click(screen.getByRole("button", { name: "Allow this network", hidden: true }));
  expect(await screen.findByText("https://192.0.2.7:8471/#/sign-in/sli1.secret")).toBeTruthy();
  expect(screen.getByRole("img", { name: /^The link for anna/, hidden: true })).toBeTruthy();
  expect(hub.calls.find((call) => call.path === "/sign-in-links")?.body).toMatchObject({
    for: "anna",
    role: "operator",
    scopes: [],
  });
  await waitFor(() => expect(hub.calls.map((call) => call.path)).toContain("/tokens/t2"));
});

it("gives a part of a role by its words, and says it with the link", async () => {
  const hub = open("/settings");
  await userEvent.click(await screen.findByRole("button", { name: "Invite a person" }));
  const dialog = screen.getByRole("dialog", { hidden: true });
  await userEvent.type(within(dialog).getByLabelText("Name"), "lo");
  expect(within(dialog).getByLabelText<HTMLInputElement>("make sign-in links with these rights").checked).toBe(false);
  await userEvent.click(within(dialog).getByLabelText("start, edit, stop and undo work"));
  expect(within(dialog).getByLabelText<HTMLSelectElement>("They may").value).toBe("runner");
  await userEvent.click(within(dialog).getByRole("button", { name: "Make the link", hidden: true }));
  expect(await within(dialog).findByText("open files and pictures")).toBeTruthy();
  expect(within(dialog).queryByText("answer questions and approvals")).toBeNull();
  expect(hub.calls.find((call) => call.path === "/sign-in-links")?.body).toEqual({
    for: "lo",
    role: "operator",
    scopes: ["artifacts", "read", "run"],
  });
  expect(dialog.textContent).toContain(
    "starloom person invite lo --role operator --scope artifacts --scope read --scope run",
  );
});

it("says under the name that it is none", async () => {
  open("/settings");
  await userEvent.click(await screen.findByRole("button", { name: "Invite a person" }));
  const dialog = screen.getByRole("dialog", { hidden: true });
  expect(within(dialog).queryByText(/A name has letters/)).toBeNull();
  await userEvent.type(within(dialog).getByLabelText("Name"), "Opa Franz");
  expect(within(dialog).getByText(/A name has letters/)).toBeTruthy();
});

it("gives a few recipes by name", async () => {
  const hub = open("/settings");
  await userEvent.click(await screen.findByRole("button", { name: "Invite a person" }));
  const dialog = screen.getByRole("dialog", { hidden: true });
  await userEvent.type(within(dialog).getByLabelText("Name"), "jonas");
  await userEvent.selectOptions(within(dialog).getByLabelText("They may"), "recipes");
  const make = within(dialog).getByRole("button", { name: "Make the link", hidden: true });
  expect(make.getAttribute("aria-disabled")).toBe("true");
  const [first] = await within(dialog).findAllByRole("checkbox", { name: /^[A-Z].* [a-z0-9-]+$/, hidden: true });
  if (!first) throw new Error("no recipe is offered");
  await userEvent.click(first);
  await userEvent.click(make);
  await within(dialog).findByText(/^start the recipe /);
  const body = hub.calls.find((call) => call.path === "/sign-in-links")?.body as { role: string; scopes: string[] };
  expect(body.role).toBe("operator");
  expect(body.scopes).toHaveLength(3);
  expect(body.scopes).toContainEqual(expect.stringMatching(/^recipe:/));
});

it("offers nobody more than the sign-in has that invites", async () => {
  const hub = open("/settings", { scopes: ["read", "access"] });
  await userEvent.click(await screen.findByRole("button", { name: "Invite a person" }));
  const dialog = screen.getByRole("dialog", { hidden: true });
  const run = within(dialog).getByLabelText<HTMLInputElement>(/^start, edit, stop and undo work/);
  expect(run.disabled).toBe(true);
  await userEvent.type(within(dialog).getByLabelText("Name"), "eve");
  await userEvent.selectOptions(within(dialog).getByLabelText("They may"), "operator");
  await userEvent.click(within(dialog).getByRole("button", { name: "Make the link", hidden: true }));
  await waitFor(() =>
    expect(hub.calls.find((call) => call.path === "/sign-in-links")?.body).toEqual({
      for: "eve",
      role: "viewer",
      scopes: ["access", "read"],
    }),
  );
});

it("finds the least role and the scopes of a choice", () => {
  const looking = ["read", "artifacts", "access"];
  expect([roleOf(looking), scopesOf(looking, []), presetOf(looking, [])]).toEqual(["viewer", [], "own"]);
  expect(presetOf(["artifacts", "read"], [])).toBe("viewer");
  expect(scopesOf(looking, looking)).toEqual(["access", "artifacts", "read"]);
  expect(presetOf(["read", "fleet"], [])).toBe("own");
  expect(roleOf(["read", "recipe:x"])).toBe("operator");
  expect(mayWords(["read", "recipe:b", "recipe:a"])).toEqual([
    "see devices, work, answers and logs",
    "start the recipes a, b",
  ]);
  expect(new Set(PRESETS.map(({ id }) => id)).size).toBe(PRESETS.length);
  expect(
    whyNotYet(
      "lo",
      Array.from({ length: 17 }, (_, at) => `recipe:${at}`),
      "recipes",
    ),
  ).toMatch(/At most 16/);
  for (const name of ["Zo\u00eb", "Zoe\u0308", "\u0410\u043d\u043d\u0430"])
    expect(whyNotYet(name, [], "viewer")).toBeNull();
  for (const name of ["", "J\u00fcrgen Gro\u00df", "a#1"]) expect(whyNotYet(name, [], "viewer")).toMatch(/no space/);
});

it("does not list an invitation whose link was used", async () => {
  open("/settings");
  await screen.findByText(/Firefox on desktop/);
  expect(screen.queryByText(/anna/)).toBeNull();
  // The page learns the time of the hub from its first frame.
  await screen.findByText(/^browser, owner, signed in (now|\d+ s ago), used/);
});

it("tells a link for the hub's own computer from one for the network", () => {
  expect(onlyHere({ url: "http://127.0.0.1:8470/#/x", lan_url: null })).toBe(true);
  expect(onlyHere({ url: "http://127.0.0.1:8470/#/x", lan_url: "https://192.0.2.7/#/x" })).toBe(false);
  expect(onlyHere({ url: "https://hub.example/#/x", lan_url: null })).toBe(false);
});
