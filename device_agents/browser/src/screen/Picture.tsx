/** The camera's picture before it is taken, and the button that takes it; the system's camera app as the other way. */
import { useEffect, useRef, useState } from "react";
import type { LocalFile } from "../tools/interface.ts";

const QUALITY = 0.9;

type Camera =
  | { is: "closed" }
  | { is: "opening" }
  | { is: "open"; stream: MediaStream }
  | { is: "refused"; why: string };

export function Picture({ facing, onTaken }: { facing: "user" | "environment"; onTaken: (file: LocalFile) => void }) {
  const [camera, setCamera] = useState<Camera>({ is: "closed" });
  const video = useRef<HTMLVideoElement>(null);
  const gone = useRef(false);
  const live = navigator.mediaDevices?.getUserMedia !== undefined;

  useEffect(() => {
    gone.current = false;
    return () => {
      gone.current = true;
    };
  }, []);
  useEffect(() => {
    if (camera.is !== "open") return;
    if (video.current !== null) video.current.srcObject = camera.stream;
    // The light of the camera goes out with the card, however it goes.
    return () => dark(camera.stream);
  }, [camera]);

  const open = async () => {
    setCamera({ is: "opening" });
    try {
      const constraints = { video: { facingMode: facing, width: { ideal: 1920 }, height: { ideal: 1080 } } };
      const stream = await navigator.mediaDevices.getUserMedia(constraints);
      // The browser asked meanwhile, and the question may have ended before the person allowed it.
      if (gone.current) dark(stream);
      else setCamera({ is: "open", stream });
    } catch (error) {
      setCamera({ is: "refused", why: error instanceof Error ? error.message : String(error) });
    }
  };
  const take = async () => {
    const picture = video.current;
    if (picture === null || picture.videoWidth === 0) return;
    const canvas = document.createElement("canvas");
    canvas.width = picture.videoWidth;
    canvas.height = picture.videoHeight;
    canvas.getContext("2d")?.drawImage(picture, 0, 0);
    const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/jpeg", QUALITY));
    if (blob === null) return setCamera({ is: "refused", why: "the picture could not be made" });
    onTaken({ name: `picture-${stamp(new Date())}.jpg`, media: "image/jpeg", blob });
  };
  return (
    <>
      {live && camera.is !== "open" && (
        <button type="button" className="big primary" disabled={camera.is === "opening"} onClick={() => void open()}>
          Open the camera
        </button>
      )}
      {camera.is === "open" && (
        <>
          <video ref={video} autoPlay playsInline muted aria-label="What the camera sees" />
          <button type="button" className="big primary" onClick={() => void take()}>
            Take the picture
          </button>
        </>
      )}
      {camera.is === "refused" && (
        <p role="alert">The browser does not open the camera ({camera.why}). Allow it in the site's settings, or:</p>
      )}
      {!live && <p className="dim">Over plain HTTP the page cannot use the camera itself; the camera app can.</p>}
      <label className={live ? "big filefield" : "big primary filefield"}>
        {live ? "Use a picture of this device" : "Open the camera app"}
        <input
          type="file"
          accept="image/*"
          capture={live ? undefined : facing}
          onChange={({ target }) => {
            const [file] = target.files ?? [];
            if (file) onTaken({ name: file.name, media: file.type || "image/jpeg", blob: file });
          }}
        />
      </label>
    </>
  );
}

function dark(stream: MediaStream): void {
  for (const track of stream.getTracks()) track.stop();
}

function stamp(at: Date): string {
  return at.toISOString().slice(0, 19).replace(/[:T]/g, "-");
}
