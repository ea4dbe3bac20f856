/** The output of a row that was tried: a field of it is used in a new row. */
import type { Row } from "../../../model/rows/row.ts";
import type { Sample } from "../../../model/rows/sample.ts";
import { sampleWords, Tree } from "./pickers.tsx";

export function RowOutput(props: { row: Row; sample: Sample; onUse: (output: string) => void }) {
  const { row, sample, onUse } = props;
  return (
    <section className="card" aria-label={`Output of row ${row.at + 1}`}>
      <header>
        <h2>Output of row {row.at + 1}</h2>
        <span className="small dim">{sampleWords(sample)}; click a field to use it in a new row</span>
      </header>
      <Tree sample={sample} chosen={null} onPick={(branch) => onUse(branch.pointer)} />
    </section>
  );
}
