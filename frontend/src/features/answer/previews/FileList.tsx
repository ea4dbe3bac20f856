/** Files that a value names: each can be saved and, one at a time, looked at. */

import { useState } from "react";
import { useWorkspace } from "../../../app/workspace/context.ts";
import { useBound } from "../../../app/workspace/printing.ts";
import { type FileRef, saveName, shownAs } from "../../../model/answer/files.ts";
import { readable } from "../../../model/words/readable.ts";
import { bytes } from "../../../model/words/words.ts";
import { useRefusal } from "../../../ui/away.tsx";
import { Icon } from "../../../ui/Icon.tsx";
import { Button } from "../../../ui/parts.tsx";
import { Said } from "../../../ui/Said.tsx";
import { FilePreview } from "./FilePreview.tsx";

const FILES_MAX = 200;

export function FileList({ files }: { files: FileRef[] }) {
  const most = useBound(FILES_MAX);
  const [open, setOpen] = useState(files.length === 1 ? 0 : -1);
  return (
    <>
      <ul className="filelist">
        {files.slice(0, most).map((file, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the same bytes may be there under two names.
          <li key={index}>
            <div className="row">
              <span className="grow cut" title={readable(file.name)}>
                {readable(file.name)}
              </span>
              <span className="small dim nowrap">{bytes(file.bytes)}</span>
              {shownAs(file.media) !== "none" && (
                <Button
                  kind="quiet"
                  aria-expanded={open === index}
                  onClick={() => setOpen(open === index ? -1 : index)}
                >
                  {open === index ? "Hide" : "Look"}
                </Button>
              )}
              <SaveFile file={file} />
            </div>
            {open === index && <FilePreview file={file} />}
          </li>
        ))}
      </ul>
      {files.length > most && (
        <p className="small dim">
          The first {most} of {files.length} files;{" "}
          <Said text="`starloom result --save DIR` saves what an answer names." />
        </p>
      )}
    </>
  );
}

export function SaveFile({ file }: { file: FileRef }) {
  const { hub } = useWorkspace();
  const why = useRefusal("files");
  const name = saveName(file.name, file.media);
  if (why) return <Button asks="files">Save</Button>;
  return (
    <a className="btn" href={hub.artifactUrl(file.artifact, name, file.media)} download={name}>
      <Icon name="down_to" />
      Save
    </a>
  );
}
