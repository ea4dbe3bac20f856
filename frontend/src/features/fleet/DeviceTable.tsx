/** The devices as a table: state, device, work now, the last hour, today. */
import { Link } from "wouter";
import { useFleet } from "../../app/workspace/context.ts";
import { type DeviceView, linkWords, taskNamed } from "../../model/fleet/fleet.ts";
import { rightsInShort } from "../../model/fleet/rights.ts";
import { Glyph } from "../../ui/Glyph.tsx";
import { Icon } from "../../ui/Icon.tsx";
import { Mark } from "./device/Mark.tsx";
import { type DevicesNow, ICONS, osOf } from "./devicesNow.tsx";
import { SmallLines, workWordsOf } from "./vitals/DeviceLines.tsx";

export function DeviceTable(props: {
  list: readonly DeviceView[];
  now: DevicesNow;
  open: string | null;
  nowMs: number;
}) {
  const { list, open, nowMs } = props;
  const { work, today, vitals, shownOf } = props.now;
  return (
    <table className="fleettable">
      <thead>
        <tr>
          <th>State</th>
          <th>Device</th>
          <th>Now</th>
          <th>The last hour</th>
          <th>Today</th>
        </tr>
      </thead>
      <tbody>
        {list.map((view) => {
          const shown = shownOf(view);
          return (
            <tr key={view.id} className={view.id === open ? "selected" : ""}>
              <td>
                <span className={`row word strong tone-${shown.tone}`}>
                  <Glyph name={shown.glyph} />
                  {shown.word}
                </span>
                <span className="small dim nowrap">{linkWords(view.device, nowMs)}</span>
              </td>
              <td>
                <Link className="row" href={`/devices?device=${view.id}`}>
                  <span className="dim">
                    <Icon name={ICONS[view.kind]} big />
                  </span>
                  <span className="twolines">
                    <span className="row named">
                      <span className="tag">{view.tag}</span>
                      <b className="strong">{view.device.name}</b>
                    </span>
                    <span className="row">
                      <span className="small dim cut">{osOf(view)}</span>
                      <Mark view={view} />
                    </span>
                  </span>
                </Link>
              </td>
              <td className="small">
                <span className="twolines">
                  <NowLine tasks={work.get(view.id)} />
                  <span className="dim">{rightsInShort(view.device, view.offer)}</span>
                </span>
              </td>
              <td>
                <SmallLines vitals={vitals} device={view.id} />
              </td>
              <td className="small nowrap">
                {workWordsOf(today.get(view.id)) ? (
                  <Link className="link" href={`/devices/${view.id}#today`}>
                    {workWordsOf(today.get(view.id))}
                  </Link>
                ) : (
                  <span className="dim">nothing yet</span>
                )}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

/** What a device does now, each task with a way to it. */
function NowLine({ tasks }: { tasks: { task: string; name: string; constellation: string }[] | undefined }) {
  const fleet = useFleet();
  const [first, ...more] = tasks ?? [];
  if (!first) return <span className="dim">nothing now</span>;
  return (
    <Link className="link cut" href={`/constellations/${first.constellation}/t/${first.task}`}>
      {taskNamed(fleet, first.task)}, {first.name}
      {more.length > 0 && ` and ${more.length} more`}
    </Link>
  );
}
