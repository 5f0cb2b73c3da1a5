const TYPES = 'input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]'

/** The element that has the focus when a key is meant for the page; undefined: it is typed, or for the browser, a dialog or a popover. */
export function pageKeyTarget(event: KeyboardEvent): Element | undefined {
  const { target } = event
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return undefined
  if (!(target instanceof Element) || target.matches(TYPES)) return undefined
  if (document.querySelector('dialog[open], [popover="auto"]:popover-open') !== null) return undefined
  return target
}
