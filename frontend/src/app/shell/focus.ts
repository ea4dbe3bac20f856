/**
 * Where the keyboard's focus goes when the control that has it leaves the page: back to the control that opened its
 * part, to the next item of its list, or to the heading. Moves no focus that a person has elsewhere.
 */

/** A part that gives the focus back to where it came from: a dialog, a menu, the panel of a task. */
const RETURNS = "[data-returns]";
/** The place of a new page that is more useful than its heading, where there is one. */
const LANDING = "[data-landing]";
const HEADING = "h1, h2, h3";
const FOCUSABLE = "a[href], button, input, select, textarea, summary, [tabindex]";
/** The next item is looked for within one of these; beyond it the heading says where one is. */
/** In the place of a deed stands another deed, which nobody has chosen. */
const DEEDS = ".acts";
const PART = "section, aside, main, header, nav, dialog, form";

interface Step {
  element: Element;
  before: Element | null;
  next: Element | null;
}

const canTake = (element: Element): boolean =>
  element.isConnected &&
  !element.matches(":disabled") &&
  element.matches(FOCUSABLE) &&
  element.checkVisibility?.() !== false;

/** The element itself where it takes the focus, else the first one in it that does. */
function firstIn(element: Element): Element | null {
  if (canTake(element)) return element;
  return [...element.querySelectorAll(FOCUSABLE)].find((one) => canTake(one)) ?? null;
}

function headingIn(element: Element | null): Element | null {
  const heading = element?.querySelector(HEADING) ?? null;
  if (heading && !heading.hasAttribute("tabindex")) heading.setAttribute("tabindex", "-1");
  return heading;
}

/** From an element up to the page, each with the ones before and after it. */
function chainOf(element: Element): Step[] {
  const chain: Step[] = [];
  for (let at: Element | null = element; at && at !== document.body; at = at.parentElement)
    chain.push({ element: at, before: at.previousElementSibling, next: at.nextElementSibling });
  return chain;
}

/** The first control that now stands in the place of a gone element; null where none does. */
function inPlaceOf({ before, next }: Step, parent: Element | undefined): Element | null {
  const known = before?.isConnected ? before.nextElementSibling : before ? next : parent?.firstElementChild;
  for (let at = known ?? null; at?.isConnected; at = at.nextElementSibling) {
    const found = firstIn(at);
    if (found) return found;
  }
  return null;
}

/** Where the focus goes from a chain whose first element is gone; null while the new page is not drawn yet. */
function successor(chain: readonly Step[], returns: WeakMap<Element, Element>): Element | null {
  for (const { element } of chain) {
    const back = returns.get(element);
    if (!element.isConnected && back && canTake(back)) return back;
  }
  const gone = chain.filter((step) => !step.element.isConnected);
  const samePage = chain.some((step) => step.element.isConnected && step.element.matches("main, header, .app"));
  const left = gone.some((step) => step.element.matches(PART));
  if (samePage && !left && !chain.some((step) => step.element.matches(DEEDS))) {
    const top = gone[gone.length - 1];
    const found = top ? inPlaceOf(top, chain[gone.length]?.element) : null;
    if (found) return found;
  }
  if (samePage) {
    for (const { element } of chain) {
      const heading = element.isConnected ? headingIn(element) : null;
      if (heading) return heading;
    }
  }
  return document.querySelector(`main ${LANDING}`) ?? headingIn(document.querySelector(".app"));
}

/** Looks after the focus for as long as the page stands. Returns the end of it. */
export function keepFocus(): () => void {
  let last: Element | null = null;
  let chain: Step[] = [];
  const returns = new WeakMap<Element, Element>();
  const note = (element: Element | null) => {
    const part = element?.closest(RETURNS);
    if (part && last && !part.contains(last)) returns.set(part, last);
    last = element;
    chain = element ? chainOf(element) : [];
  };
  const hear = (event: FocusEvent) => note(event.target as Element);
  // A click beside every control gives the focus up, and a control that has it already says nothing.
  const click = () => {
    if (document.activeElement === document.body) note(null);
  };
  const look = () => {
    if (!last) return;
    if (last.isConnected) {
      chain = chainOf(last);
      // A control that could not be used for a moment has lost the focus without leaving.
      if (document.activeElement === document.body && canTake(last)) (last as HTMLElement).focus();
      return;
    }
    if (document.activeElement !== document.body) return;
    const next = successor(chain, returns);
    if (!next) return;
    (next as HTMLElement).focus({ preventScroll: true });
    if (next.matches(".item")) next.scrollIntoView?.({ block: "nearest" });
  };
  const observer = new MutationObserver(look);
  observer.observe(document.body, { childList: true, subtree: true });
  document.addEventListener("focusin", hear);
  document.addEventListener("click", click, true);
  return () => {
    observer.disconnect();
    document.removeEventListener("focusin", hear);
    document.removeEventListener("click", click, true);
  };
}
