/**
 * The reference of a field that a press opens: it takes the focus as it is drawn, so that the button which leaves does
 * not send the focus elsewhere. One function for all fields: a new one would be called at each drawing.
 */
export const focusAtOnce = (field: HTMLElement | null): void => field?.focus();
