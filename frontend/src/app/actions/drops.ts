/**
 * Drops: a browser opens a file or a link that is dropped on a page in the place of the page, and all that was typed there
 * is gone. Decides which drops are left to a field; owns no state.
 */
const TEXT_FIELDS = "input, textarea";
const FILE_FIELDS = "input[type=file]";

const hasFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;

/** Whether a part of the page has taken it, or a field of the browser's own will. */
const isTaken = (event: DragEvent): boolean =>
  event.defaultPrevented ||
  (event.target instanceof Element && event.target.closest(hasFiles(event) ? FILE_FIELDS : TEXT_FIELDS) !== null);

/** Keeps the page, whatever is dropped on it. Returns the end of it. */
export function guardDrops(page: Window): () => void {
  const ends = new AbortController();
  const keep = (event: DragEvent) => {
    if (!isTaken(event)) event.preventDefault();
  };
  page.addEventListener("dragover", keep, { signal: ends.signal });
  page.addEventListener("drop", keep, { signal: ends.signal });
  return () => ends.abort();
}

/** Calls `tell` for files that were dropped where nothing takes them. Returns the end of it. */
export function onLostFiles(page: Document, tell: () => void): () => void {
  const hear = (event: DragEvent) => {
    if (hasFiles(event) && !isTaken(event)) tell();
  };
  page.addEventListener("drop", hear);
  return () => page.removeEventListener("drop", hear);
}
