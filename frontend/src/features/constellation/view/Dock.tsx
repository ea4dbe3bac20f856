/** The dock under the graph: the versions, and the feed that opens above it. */
import type { StreamModel } from "../../../model/stream/stream.ts";
import type { versions as versionsOf } from "../../../model/tasks/selectors.ts";
import { Button } from "../../../ui/parts.tsx";
import { Feed } from "../history/Feed.tsx";
import { Versions } from "../history/Versions.tsx";

export function Dock(props: {
  scene: StreamModel;
  fleet: StreamModel;
  versions: ReturnType<typeof versionsOf>;
  shown: number | null;
  playing: boolean;
  open: boolean;
  onShow: (version: number | null) => void;
  onPlay: () => void;
  onOpen: (open: boolean) => void;
  onSelect: (task: string) => void;
}) {
  const { scene, fleet, versions, shown, playing, open, onShow, onPlay, onOpen, onSelect } = props;
  return (
    <div className={`dock ${open ? "" : "shut"}`}>
      <div className="row">
        <Versions versions={versions} shown={shown} onShow={onShow} playing={playing} onPlay={onPlay} />
        <Button
          icon={open ? "down" : "list"}
          kind="quiet"
          aria-label={open ? "Hide what happened" : "Show what happened"}
          aria-expanded={open}
          onClick={() => onOpen(!open)}
        />
      </div>
      {open && <Feed events={scene.events} fleet={fleet} revision={scene.revision} most={40} onSelect={onSelect} />}
    </div>
  );
}
