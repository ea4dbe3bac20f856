/** `geolocation`: where this device is, once, after a tap. Numbers are rounded to what the device is sure of. */
import { z } from "zod";
import { needsSecure, ToolFailed, tool } from "./interface.ts";

const args = z.strictObject({
  text: z.string().max(1000).default("Tell where this device is"),
  within_s: z.int().min(1).max(300).default(60),
});

export const geolocation = tool({
  name: "geolocation",
  title: "Tell where the device is",
  capability: "location",
  args,
  gives: z.strictObject({ latitude: z.number(), longitude: z.number(), accuracy_m: z.int(), at: z.string() }),
  effects: ["control"],
  repeatability: "never",
  resumes: true,
  probe: (around) =>
    needsSecure(around, "location") ?? (around.navigator.geolocation ? null : "this browser tells no location"),
  async run(call, { text, within_s }) {
    const act = () => position(within_s);
    return call.step("place", () => call.ask({ kind: "tap", text, button: "Tell it once", act }));
  },
});

function position(withinS: number): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const options = { enableHighAccuracy: true, timeout: withinS * 1000, maximumAge: 0 };
    const failed = (error: GeolocationPositionError) => {
      const refused = error.code === error.PERMISSION_DENIED;
      const detail = refused
        ? "this browser does not let the page know where the device is; allow it in the site's settings"
        : `the device found no position within ${withinS} s: ${error.message}`;
      reject(new ToolFailed(refused ? "policy_refused" : "tool_failed", detail));
    };
    navigator.geolocation.getCurrentPosition(
      ({ coords, timestamp }) =>
        resolve({
          latitude: Number(coords.latitude.toFixed(6)),
          longitude: Number(coords.longitude.toFixed(6)),
          accuracy_m: Math.round(coords.accuracy),
          at: new Date(timestamp).toISOString(),
        }),
      failed,
      options,
    );
  });
}
