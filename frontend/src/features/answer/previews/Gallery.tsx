/** Pictures of an answer beside each other; each can be opened alone and saved. */

import { useWorkspace } from "../../../app/workspace/context.ts";
import { useBound, usePrinting } from "../../../app/workspace/printing.ts";
import type { FileRef } from "../../../model/answer/files.ts";
import { readable } from "../../../model/words/readable.ts";
import { useRefusal } from "../../../ui/away.tsx";
import { SaveFile } from "./FileList.tsx";

/** So many are fetched at once: each may be some megabytes. */
const PICTURES_MAX = 24;

export function Gallery({ files }: { files: FileRef[] }) {
  const { hub } = useWorkspace();
  const printing = usePrinting();
  const most = useBound(PICTURES_MAX);
  const why = useRefusal("files");
  if (why) return <p className="dim">{why}</p>;
  return (
    <>
      <ul className="gallery">
        {files.slice(0, most).map((file, index) => {
          const url = hub.artifactUrl(file.artifact, file.name, file.media, true);
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: the same bytes may be there under two names.
            <li key={index}>
              <a href={url} target="_blank" rel="noopener noreferrer">
                <img loading={printing ? "eager" : "lazy"} src={url} alt={readable(file.name)} />
              </a>
              <span className="row">
                <span className="small cut grow" title={readable(file.name)}>
                  {readable(file.name)}
                </span>
                <SaveFile file={file} />
              </span>
            </li>
          );
        })}
      </ul>
      {files.length > most && (
        <p className="small dim">
          The first {most} of {files.length} pictures.
        </p>
      )}
    </>
  );
}
