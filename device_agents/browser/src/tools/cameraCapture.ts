/** `camera.capture`: one picture, seen before it is taken and taken by the person's own tap. */
import { z } from "zod";
import { type LocalFile, storedFile, tool } from "./interface.ts";
import { takenFiles } from "./taking.ts";

const args = z.strictObject({
  text: z.string().max(1000).default("Take a picture"),
  facing: z.enum(["user", "environment"]).default("environment"),
});

export const cameraCapture = tool({
  name: "camera.capture",
  title: "Take a picture with the device's camera",
  capability: "camera",
  args,
  gives: z.strictObject({ file: storedFile, files: z.array(storedFile) }),
  effects: ["control"],
  repeatability: "never",
  resumes: true,
  // Without the camera's own interface (plain HTTP) the system's camera app is opened by a file field instead.
  probe: () => null,
  async run(call, { text, facing }) {
    const [picture] = await call.step("picture", async () => {
      return takenFiles((await call.ask({ kind: "picture", text, facing })) as LocalFile[]);
    });
    if (picture === undefined) throw new Error("the camera gave no picture");
    const file = await call.put(picture);
    return { file: { ...file }, files: [{ ...file }] };
  },
});
