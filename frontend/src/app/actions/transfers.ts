/**
 * What comes into the page by a drop or from the clipboard. A browser opens a file or a link that is dropped in the place
 * of the page, with all that was typed there; and a text of megabytes in a field stops the page for seconds, only to be
 * refused by the hub. Decides what is left to a field; owns no state.
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

/** The hub takes a plan of 2 MiB. */
const PLAN_MOST = 2 * 1024 * 1024;
/** A value of one line comes to the hub in a body of 64 KiB. */
const LINE_MOST = 64 * 1024;

type Field = HTMLInputElement | HTMLTextAreaElement;

const isField = (target: EventTarget | null): target is Field =>
  target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;

/** The most characters of a field: its own bound, or that of its kind. */
const mostOf = (field: Field): number =>
  field.maxLength > 0 ? field.maxLength : ["textarea", "file"].includes(field.type) ? PLAN_MOST : LINE_MOST;

/** Says at a field that a text is too long for it; true where it is. */
export function isRefused(field: Field, chars: number): boolean {
  const most = mostOf(field);
  const words = `This text has ${chars.toLocaleString("en")} characters; at most ${most.toLocaleString("en")} fit here.`;
  field.setCustomValidity(chars > most ? words : "");
  return chars > most && !field.reportValidity();
}

/** Refuses a text that is too long for its field whole and at once. Returns the end of it. */
export function guardPastes(page: Document): () => void {
  const judge = (event: InputEvent) => {
    const field = event.target;
    if (!isField(field)) return;
    const given = event.data ?? event.dataTransfer?.getData("text/plain") ?? "";
    const replaced = (field.selectionEnd ?? 0) - (field.selectionStart ?? 0);
    if (given.length > 1 && isRefused(field, field.value.length - replaced + given.length)) event.preventDefault();
  };
  // The refusal is about what was pasted: it goes with the next act in the field.
  const forget = ({ target }: Event) => isField(target) && target.setCustomValidity("");
  page.addEventListener("beforeinput", judge);
  page.addEventListener("input", forget);
  page.addEventListener("focusout", forget);
  return () => {
    page.removeEventListener("beforeinput", judge);
    page.removeEventListener("input", forget);
    page.removeEventListener("focusout", forget);
  };
}
