/** The answer: one sentence first, then its items. It grows while work goes on and is the page's hero at the end. */
import { useMemo, useState } from "react";
import { type FileRef, filesIn, mediaOf } from "../model/files.ts";
import type { Answer, AnswerItem } from "../model/types.ts";
import { bytes } from "../model/words.ts";
import { Icon, type IconName } from "../ui/Icon.tsx";
import { Modal } from "../ui/Modal.tsx";
import { Button } from "../ui/parts.tsx";
import { FileList, SaveFile } from "./previews/FileList.tsx";
import { FilePreview } from "./previews/FilePreview.tsx";
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

/** The files that an item is or names; null for a value. */
function filesOf(item: AnswerItem): FileRef[] | null {
  if (item.artifact) {
    const { artifact, title: name, bytes: size = 0 } = item;
    return [{ artifact, name, media: mediaOf(name, item.media), bytes: size }];
  }
  try {
    return filesIn(JSON.parse(item.value ?? "null"));
  } catch {
    return null; // a text, which is shown as one
  }
}

function ItemView({ item, onClose }: { item: AnswerItem; onClose: () => void }) {
  const files = useMemo(() => filesOf(item), [item]);
  const only = files?.length === 1 ? files[0] : undefined;
  return (
    <Modal label={item.title} className="itemview" onClose={onClose}>
      <header className="row">
        <h2 className="head grow cut">{item.title}</h2>
        <span className="small dim nowrap">from {item.task}</span>
        {only && <SaveFile file={only} />}
        <Button icon="close" kind="quiet" aria-label="Close" onClick={onClose} />
      </header>
      <div className="body">
        {only && <FilePreview file={only} />}
        {files && !only && <FileList files={files} />}
        {!files && item.value !== undefined && item.value !== null && (
          <ValueView text={item.value} table={item.show === "table"} />
        )}
        <p className="small dim">
          {item.checked ? "Checked: every check of its task was met." : "Not checked: its task declares no check."}
        </p>
      </div>
    </Modal>
  );
}
