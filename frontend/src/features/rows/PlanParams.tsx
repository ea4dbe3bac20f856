/** The parameters of a plan, each with the way back to a fixed value. */
import type { paramsOf } from "../../model/rows/document.ts";
import { Button } from "../../ui/parts.tsx";

export function PlanParams(props: {
  params: [string, ReturnType<typeof paramsOf>[string]][];
  onFix: ((name: string) => void) | null;
}) {
  const { params, onFix } = props;
  return (
    <div className="params row wrap">
      <span className="small dim">Parameters</span>
      {params.map(([name, param]) => (
        <span key={name} className="setting-chip">
          <span className="small dim">{String(param.type)}</span>
          <span className="ref">{name}</span>
          {onFix && (
            <Button
              kind="quiet"
              icon="close"
              aria-label={`Make ${name} a fixed value again`}
              onClick={() => onFix(name)}
            />
          )}
        </span>
      ))}
    </div>
  );
}
