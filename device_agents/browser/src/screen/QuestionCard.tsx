/** One question with its way to answer; every answer is a tap or a typed line, every question can be declined. */
import { useId, useState } from "react";
import type { OpenQuestion } from "../agent/questions.ts";
import { type LocalFile, type Question, ToolFailed } from "../tools/interface.ts";
import { modifiedOf } from "../tools/taking.ts";
import { Picture } from "./Picture.tsx";

interface Answering<Kind extends Question["kind"]> {
  question: Extract<Question, { kind: Kind }>;
  answer: (value: unknown) => void;
  fail: (error: Error) => void;
}

export function QuestionCard({ open }: { open: OpenQuestion }) {
  const title = useId();
  const { asked, question, answer } = open;
  const no = () => open.decline(new ToolFailed("declined", `the person at the device said no: ${question.text}`));
  return (
    <section className="card question" aria-labelledby={title}>
      <p className="tool">{open.tool}</p>
      <h3 id={title}>{question.text}</h3>
      {asked.words && (
        <p className="asker">
          {askerOf(asked.by)} asked for <q>{asked.words}</q>
        </p>
      )}
      {question.kind === "choice" && <Choice question={question} answer={answer} fail={open.decline} />}
      {question.kind === "line" && <Line question={question} answer={answer} fail={open.decline} />}
      {question.kind === "files" && <Files question={question} answer={answer} fail={open.decline} />}
      {question.kind === "picture" && <Picture facing={question.facing} onTaken={(file) => answer([file])} />}
      {question.kind === "tap" && <Tap question={question} answer={answer} fail={open.decline} />}
      <button type="button" className="big quiet" onClick={no}>
        Decline
      </button>
    </section>
  );
}

/** An author as a person reads it: a program and an assistant are named as what they are. */
function askerOf(by: string): string {
  const colon = by.indexOf(":");
  const [kind, name] = [by.slice(0, colon), by.slice(colon + 1)];
  if (colon < 0) return "The hub";
  return kind === "person" ? name : `The ${kind} ${name}`;
}

function Choice({ question, answer }: Answering<"choice">) {
  return question.choices.map((choice) => (
    <button key={choice} type="button" className="big primary" onClick={() => answer(choice)}>
      {choice}
    </button>
  ));
}

function Line({ answer }: Answering<"line">) {
  const [text, setText] = useState("");
  const id = useId();
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() !== "") answer(text);
      }}
    >
      <label htmlFor={id}>Your answer</label>
      <input id={id} value={text} autoComplete="off" onChange={(event) => setText(event.target.value)} />
      <button type="submit" className="big primary" disabled={text.trim() === ""}>
        Send
      </button>
    </form>
  );
}

function Files({ question, answer }: Answering<"files">) {
  return (
    <label className="big primary filefield">
      {question.many ? "Choose files" : "Choose a file"}
      <input
        type="file"
        accept={question.accept}
        multiple={question.many}
        onChange={({ target }) => {
          const files = Array.from(target.files ?? [], (file): LocalFile => {
            const changed = modifiedOf(file, Date.now());
            return { name: file.name, media: file.type || "application/octet-stream", blob: file, ...changed };
          });
          if (files.length > 0) answer(files);
        }}
      />
    </label>
  );
}

function Tap({ question, answer, fail }: Answering<"tap">) {
  const [busy, setBusy] = useState(false);
  const act = async () => {
    setBusy(true);
    try {
      answer(await question.act());
    } catch (error) {
      fail(error instanceof Error ? error : new Error(String(error)));
    }
  };
  return (
    <>
      {question.shown && <p className="shown">{question.shown}</p>}
      <button type="button" className="big primary" disabled={busy} onClick={() => void act()}>
        {question.button}
      </button>
    </>
  );
}
