/** The versions of a plan on a line: who made each, why, what it changed. Choosing one shows the plan as it was. */
import { type KeyboardEvent, useEffect, useRef } from "react";
import type { Version } from "../../../model/types.ts";
import { author, versionDelta } from "../../../model/words/words.ts";
import { Button } from "../../../ui/parts.tsx";
import { pressedKey } from "../../../ui/pressedKey.ts";
import { Choose } from "../../../ui/Search.tsx";

interface VersionsProps {
  versions: Version[];
  /** The version that is shown; null is the present. */
  shown: number | null;
  onShow: (version: number | null) => void;
  playing: boolean;
  onPlay: () => void;
}

const LABELS_MAX = 5;

export function Versions({ versions, shown, onShow, playing, onPlay }: VersionsProps) {
  const last = versions[versions.length - 1]?.number ?? 0;
  const current = shown ?? last;
  const track = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the pressed tick is another one where these change.
  useEffect(() => {
    const tick = track.current?.querySelector('[aria-pressed="true"]');
    if (!track.current || !tick) return;
    // The line alone is moved: `scrollIntoView` would take the page from its question down to here.
    const [line, at] = [track.current.getBoundingClientRect(), tick.getBoundingClientRect()];
    track.current.scrollLeft += Math.max(0, at.right - line.right) - Math.max(0, line.left - at.left);
  }, [current, last]);
  const step = (by: number) => {
    const at = versions.findIndex((version) => version.number === current) + by;
    const next = versions[Math.max(0, Math.min(versions.length - 1, at))];
    if (next) onShow(next.number);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const key = pressedKey(event);
    if (key !== "ArrowLeft" && key !== "ArrowRight") return;
    event.preventDefault();
    event.stopPropagation();
    step(key === "ArrowRight" ? 1 : -1);
  };
  const labelled = versions.length <= LABELS_MAX;
  return (
    <div className="scrub">
      <Button
        icon={playing ? "pause" : "play"}
        kind="quiet"
        aria-label={playing ? "Stop playing" : "Play the versions"}
        onClick={onPlay}
      />
      <div ref={track} className="track" role="toolbar" aria-label="Versions of the plan" onKeyDown={onKeyDown}>
        {versions.map((version) => (
          <button
            type="button"
            key={version.number}
            className={`tick ${version.number <= current ? "past" : ""}`}
            tabIndex={version.number === current ? 0 : -1}
            aria-pressed={version.number === current}
            title={`v${version.number} by ${author(version.author)}${version.reason ? `: ${version.reason}` : ""}`}
            onClick={() => onShow(version.number === last && shown === null ? null : version.number)}
          >
            <i aria-hidden="true" />
            <span className="cut">
              <b>v{version.number}</b> {labelled && `${short(version)}`}
            </span>
          </button>
        ))}
      </div>
      {shown === null ? (
        <span className="pill now">Now</span>
      ) : (
        <Button onClick={() => onShow(null)}>Back to now</Button>
      )}
    </div>
  );
}

/** The same choice where there is no room for a line of versions. */
export function VersionChoice({ versions, shown, onShow }: Omit<VersionsProps, "playing" | "onPlay">) {
  const past = versions.map((version) => [String(version.number), `v${version.number} ${short(version)}`] as const);
  return (
    <Choose
      label="Version of the plan"
      value={shown === null ? "" : String(shown)}
      choices={[["", "Now"], ...past.reverse()]}
      onChange={(chosen) => onShow(chosen ? Number(chosen) : null)}
    />
  );
}

function short(version: Version): string {
  const what = author(version.author);
  return [what, versionDelta(version)].filter(Boolean).join(", ");
}
