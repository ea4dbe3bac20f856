import { render, screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { WorkspaceContext } from "../../../app/workspace/context.ts";
import { Workspace } from "../../../app/workspace/workspace.ts";
import { RightsContext } from "../../../ui/away.tsx";
import { FileList } from "./FileList.tsx";
import { Gallery } from "./Gallery.tsx";

const FILES = [{ artifact: "a".repeat(64), bytes: 9, media: "image/png", name: "beach.png" }];

function show(...scopes: string[]) {
  render(
    <WorkspaceContext value={new Workspace(() => {})}>
      <RightsContext value={{ role: "operator", scopes }}>
        <Gallery files={FILES} />
        <FileList files={FILES} />
      </RightsContext>
    </WorkspaceContext>,
  );
}

it("says in words that a sign-in may not open files, in place of broken pictures", () => {
  show("read", "run");
  expect(screen.getAllByText(/its rights leave out “artifacts”/)).toHaveLength(2);
  expect(screen.queryByRole("img")).toBeNull();
  expect(screen.queryByRole("link")).toBeNull();
  expect(screen.getByRole("button", { name: "Save" }).getAttribute("aria-disabled")).toBe("true");
});

it("shows the pictures to whoever may open files", () => {
  show("read", "artifacts");
  expect(screen.getAllByRole("img")).toHaveLength(2);
  expect(screen.getAllByRole("link", { name: /Save/ })).toHaveLength(2);
});
