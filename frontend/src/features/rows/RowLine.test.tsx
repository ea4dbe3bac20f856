/** The line of a row says where its values come from. */
import { render, screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { rowsOf } from "../../model/rows/row.ts";
import { RowLine } from "./RowLine.tsx";

it("names the row that gives a value, and not its number alone, which reads as a count", () => {
  const rows = rowsOf({
    tasks: [
      { id: "find", tool: "fs.find" },
      { id: "hash", tool: "fs.hash", inputs: { files: { from: "find", output: "/files" } } },
    ],
  });
  const row = rows[1] ?? expect.fail("no row");
  const nothing = () => {};
  render(
    <RowLine
      row={row}
      rows={rows}
      tool={undefined}
      params={[]}
      faults={[]}
      sample={null}
      preview={undefined}
      locked={null}
      open={false}
      trying={false}
      onOpen={nothing}
      onPickTool={nothing}
      onWhere={nothing}
    />,
  );
  expect(screen.getByRole("button", { name: "Values of row 2" }).textContent).toBe("filesfiles of row 1");
});
