/** A field of a row: its text stays as it is typed, and a number whose digits are not kept changes nothing. */
import { fireEvent, render, screen } from "@testing-library/react";
import { useState } from "react";
import { expect, it } from "vitest";
import type { Json } from "../../../model/rows/document.ts";
import { type Field, wrongWith } from "../../../model/rows/schema.ts";
import { FieldControl } from "./FieldControl.tsx";

function typing(kind: Field["kind"], start: Json) {
  const field: Field = { name: "amount", kind, required: true, choices: [], whole: false };
  let held: Json | undefined = start;
  const nothing = () => undefined;
  function Held() {
    const [value, setValue] = useState<Json | undefined>(start);
    held = value;
    const more = { about: "", fresh: false, use: null, locked: false, noUse: null, onParam: null };
    return (
      <FieldControl
        {...more}
        field={field}
        value={value}
        fault={value === undefined ? null : wrongWith(field, value)}
        onValue={setValue}
        onPickUse={nothing}
        onDropUse={nothing}
      />
    );
  }
  render(<Held />);
  const box = screen.getByLabelText<HTMLInputElement>(/amount/i, { selector: "input, textarea" });
  const type = (value: string) => {
    fireEvent.change(box, { target: { value } });
    return [box.value, held];
  };
  return { type };
}

it("takes a number as it is written, and says what is none", () => {
  const { type } = typing("number", 2);
  expect(type("1.")).toEqual(["1.", 1]);
  expect(type("1.50")).toEqual(["1.50", 1.5]);
  expect(type("0,5")).toEqual(["0,5", "0,5"]);
  expect(screen.getByText(/needs a number written like 0.5/)).toBeTruthy();
  expect(type("12345678901234567890")).toEqual(["12345678901234567890", "12345678901234567890"]);
  expect(screen.getByText("has more digits than this page can keep")).toBeTruthy();
});

it("keeps its value where the digits of what is typed would be lost", () => {
  const { type } = typing("json", [1]);
  expect(type('[{"id": 12345678901234567890}]')).toEqual(['[{"id": 12345678901234567890}]', [1]]);
  expect(screen.getByRole("alert").textContent).toContain("The row keeps its earlier value.");
  expect(type('[{"id": 7}]')).toEqual(['[{"id": 7}]', [{ id: 7 }]]);
  expect(screen.queryByRole("alert")).toBeNull();
});
