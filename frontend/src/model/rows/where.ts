/** Where a row runs, in words a person chooses from, read from and written to `device` and `for_each`. */
import { type Fields, isFields, type Json, nodeOf, textOf, trimmed, withField } from "./document.ts";

/**
 * `auto` any capable device; `device` one by name; `class` any device of a kind; `every` each device of a kind;
 * `param` what the recipe is given. `other` is a selector that this list does not show; it is kept as it is.
 */
export type Where =
  | { kind: "auto" }
  | { kind: "device"; name: string }
  | { kind: "class"; of: DeviceClass }
  | { kind: "every"; of: DeviceClass }
  | { kind: "param"; name: string; every: boolean }
  | { kind: "other"; selector: Json };

interface DeviceClass {
  os?: string;
  label?: string;
}

function classOf(selector: Fields): DeviceClass | null {
  const names = Object.keys(selector);
  if (names.length === 0) return {};
  if (names.length === 1 && typeof selector.os === "string") return { os: selector.os };
  const labels = selector.labels;
  if (names.length === 1 && Array.isArray(labels) && labels.length === 1 && typeof labels[0] === "string")
    return { label: labels[0] };
  return null;
}

const selectorOf = (of: DeviceClass): Fields =>
  trimmed({ os: of.os || undefined, labels: of.label ? [of.label] : undefined });

export function whereOf(task: Fields): Where {
  const each = isFields(task.for_each) ? task.for_each : null;
  if (each && "devices" in each) {
    // A number of different devices is not each of them.
    if ("times" in each) return { kind: "other", selector: each.devices ?? {} };
    const param = nodeOf(each.devices, "param");
    if (param !== null) return { kind: "param", name: param, every: true };
    const of = isFields(each.devices) ? classOf(each.devices) : null;
    return of ? { kind: "every", of } : { kind: "other", selector: each.devices ?? {} };
  }
  const device = task.device;
  if (device === undefined) return { kind: "auto" };
  const param = nodeOf(device, "param");
  if (param !== null) return { kind: "param", name: param, every: false };
  if (isFields(device)) {
    if (Object.keys(device).length === 1 && typeof device.name === "string")
      return { kind: "device", name: device.name };
    const of = classOf(device);
    if (of && (of.os || of.label)) return { kind: "class", of };
  }
  return { kind: "other", selector: device };
}

/** Writes where a row runs. What else its `for_each` says (how many at once, how many must do) stays. */
export function withWhere(task: Fields, where: Where): Fields {
  if (where.kind === "other") return task;
  const each = isFields(task.for_each) ? task.for_each : null;
  const overDevices = each !== null && "devices" in each;
  const every = where.kind === "every" || (where.kind === "param" && where.every);
  let changed = task;
  if (every) {
    const devices: Json = where.kind === "every" ? selectorOf(where.of) : { param: where.name };
    const { from: _from, output: _output, same: _same, times: _times, ...rest } = each ?? {};
    changed = { ...changed, for_each: { ...rest, devices } };
    return withField(changed, "device", undefined);
  }
  if (overDevices) changed = withField(changed, "for_each", undefined);
  if (where.kind === "auto") return withField(changed, "device", undefined);
  const device: Json =
    where.kind === "device"
      ? { name: where.name }
      : where.kind === "class"
        ? selectorOf(where.of)
        : { param: where.name };
  return withField(changed, "device", device);
}

/** What a list of choices says: `demo-phone`, `every linux device`. */
export function whereWords(where: Where): string {
  switch (where.kind) {
    case "auto":
      return "Any device that can";
    case "device":
      return where.name;
    case "class":
      return `Any ${where.of.os ?? where.of.label} device`;
    case "every":
      return where.of.os || where.of.label ? `Every ${where.of.os ?? where.of.label} device` : "Every device that can";
    case "param":
      return where.every ? `Every device of ${where.name}` : `The device ${where.name}`;
    case "other":
      return isFields(where.selector) ? selectorWords(where.selector) : JSON.stringify(where.selector);
  }
}

/** The devices that a selector means: `nas or laptop`, `any linux device`; `nas and laptop` where each of them does it. */
export function selectorWords(selector: Fields, every = false): string {
  const param = nodeOf(selector, "param");
  if (param !== null) return param;
  if (Array.isArray(selector.any))
    return selector.any.map((one) => (isFields(one) ? selectorWords(one, every) : "")).join(every ? " and " : " or ");
  const named = textOf(selector.name) || textOf(selector.id);
  if (named) return named;
  const of = classOf(selector);
  if (of) return [every ? "every" : "any", of.os || of.label, "device"].filter(Boolean).join(" ");
  return JSON.stringify(selector);
}

/** One text for a choice in a list, and back. */
export const whereKey = (where: Where): string => JSON.stringify(where);

/** Does a device fit the words of a class? An empty class fits every device. */
export function fits(of: DeviceClass, device: { os?: string; labels?: readonly string[] }): boolean {
  if (of.os && device.os !== of.os) return false;
  return !of.label || (device.labels ?? []).includes(of.label);
}
