/** The part of models in one row: a question that another model answers about its result, and a point of review. */
import type { Fields } from "../../../model/rows/document.ts";
import { isReviewedAt, judgeOf, withJudge, withReviewAt } from "../../../model/rows/edit.ts";
import type { Row } from "../../../model/rows/row.ts";

const QUESTION_CHARS_MOST = 500;

interface JudgementProps {
  row: Row;
  task: Fields;
  running: boolean;
  locked: boolean;
  onChange: (edit: (task: Fields) => Fields, about?: string) => void;
}

/** Why a row can have no judge; empty where it can. */
function whyNot(row: Row, task: Fields, running: boolean): string {
  if ("for_each" in task || row.where.kind === "every") return "A row that runs several times has no judge.";
  if ("verify" in task) return "A row that is looked at after a cut has no judge.";
  return running ? "The judge of a running row stays as it is." : "";
}

export function Judgement({ row, task, running, locked, onChange }: JudgementProps) {
  if (row.kind !== "tool") return null;
  const why = whyNot(row, task, running);
  const question = judgeOf(task);
  return (
    <label className="rowfield wide">
      <span className="small dim">question to a judge</span>
      <input
        className="input"
        disabled={locked || why !== ""}
        maxLength={QUESTION_CHARS_MOST}
        placeholder="Does the evidence show the cause?"
        value={question}
        onChange={(event) => onChange((held) => withJudge(held, event.target.value), `${row.id} judge`)}
      />
      <span className="small dim">
        {why || (question ? "Another model answers it. Without its yes, or yours, the row is not done." : "")}
      </span>
    </label>
  );
}

interface ReviewPointProps {
  row: Row;
  plan: Fields;
  locked: boolean;
  onPlan: (edit: (plan: Fields) => Fields, about?: string) => void;
}

export function ReviewPoint({ row, plan, locked, onPlan }: ReviewPointProps) {
  return (
    <label className="rowfield">
      <span className="small dim">when it has ended</span>
      <select
        className="input"
        disabled={locked}
        value={isReviewedAt(plan, row.id) ? "review" : "go"}
        onChange={(event) => onPlan((held) => withReviewAt(held, row.id, event.target.value === "review"))}
      >
        <option value="go">the plan goes on</option>
        <option value="review">a model reviews the plan first</option>
      </select>
    </label>
  );
}
