/** The answer: one sentence first, then its items. It grows while work goes on and is the page's hero at the end. */
import { useState } from "react";
import { useWorkspace } from "../app/context.ts";
import type { Answer, AnswerItem } from "../model/types.ts";
import { bytes } from "../model/words.ts";
import { Icon, type IconName } from "../ui/Icon.tsx";
import { Modal } from "../ui/Modal.tsx";
import { Button } from "../ui/parts.tsx";
import { ValueView } from "./ValueView.tsx";

const ICONS: Record<string, IconName> = {
  table: "table",
  file: "file",
  image: "image",
  value: "proof",
  text: "recipe",
  markdown: "recipe",
};

export function AnswerItems({ answer }: { answer: Answer | undefined }) {
  const [open, setOpen] = useState<AnswerItem | null>(null);
  const items = answer?.items ?? [];
  if (items.length === 0) return null;
  return (
    <>
      <ul className="outs">
        {items.map((item) => (
          <li key={`${item.title}/${item.task}`}>
            <button
              type="button"
              className="chip out"
              onClick={() => setOpen(item)}
              title={`${item.title}, from ${item.task}`}
            >
              <Icon name={ICONS[item.show] ?? "file"} />
              <b>{item.title}</b>
              {item.bytes ? <span>{bytes(item.bytes)}</span> : null}
              {item.checked && <Icon name="check" />}
            </button>
          </li>
        ))}
      </ul>
      {open && <ItemView item={open} onClose={() => setOpen(null)} />}
    </>
  );
}

const ENDINGS: Record<string, string> = {
  "text/html": ".html",
  "text/csv": ".csv",
  "image/png": ".png",
  "application/json": ".json",
  "text/plain": ".txt",
};

function fileName(item: AnswerItem): string {
  return item.title + (/\.\w{1,5}$/.test(item.title) ? "" : (ENDINGS[item.media ?? ""] ?? ""));
}

function ItemView({ item, onClose }: { item: AnswerItem; onClose: () => void }) {
  const { hub } = useWorkspace();
  return (
    <Modal label={item.title} className="itemview" onClose={onClose}>
      <header className="row">
        <h2 className="head grow cut">{item.title}</h2>
        <span className="small dim nowrap">from {item.task}</span>
        {item.artifact && (
          <a
            className="btn"
            href={hub.artifactUrl(item.artifact, fileName(item), item.media)}
            download={fileName(item)}
          >
            <Icon name="down_to" />
            Save
          </a>
        )}
        <Button icon="close" kind="quiet" aria-label="Close" onClick={onClose} />
      </header>
      <div className="body">
        {item.artifact && item.media?.startsWith("image/") && (
          <img src={hub.artifactUrl(item.artifact, undefined, item.media)} alt={item.title} />
        )}
        {item.artifact && !item.media?.startsWith("image/") && (
          <p className="dim">
            {item.media ?? "A file"}, {bytes(item.bytes ?? 0)}. Save it to look at it.
          </p>
        )}
        {item.value !== undefined && item.value !== null && (
          <ValueView text={item.value} table={item.show === "table"} />
        )}
        <p className="small dim">
          {item.checked ? "Checked: every check of its task was met." : "Not checked: its task declares no check."}
        </p>
      </div>
    </Modal>
  );
}
