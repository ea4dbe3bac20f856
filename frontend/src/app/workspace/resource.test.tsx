import { act, render, screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { useResource } from "./resource.ts";

const shown: string[] = [];
function Reader({ of, read }: { of: string; read: () => Promise<string> }) {
  const { value } = useResource(of, read);
  shown.push(`${of}: ${value ?? "nothing"}`);
  return <p>{value}</p>;
}

it("never shows for one key what was read for another", async () => {
  const late: ((value: string) => void)[] = [];
  const read = () => new Promise<string>((done) => late.push(done));
  const { rerender } = render(<Reader of="one" read={read} />);
  await act(async () => late[0]?.("first"));
  expect(screen.getByText("first")).toBeTruthy();
  rerender(<Reader of="two" read={read} />);
  expect(shown.filter((line) => line.startsWith("two"))).toEqual(Array(2).fill("two: nothing"));
  rerender(<Reader of="three" read={read} />);
  await act(async () => late[1]?.("late, of two"));
  await act(async () => late[2]?.("third"));
  expect(shown).not.toContain("three: late, of two");
  expect(shown.at(-1)).toBe("three: third");
});
