const GAP_PX = 6
const EDGE_PX = 8

/**
 * Puts an element of the top layer below its anchor, or above where there is no room below.
 * @param align which edges meet
 */
export function placeBeside(element: HTMLElement, anchor: Element, align: 'start' | 'center' | 'end' = 'start'): void {
  const { left, right, top, bottom, width } = anchor.getBoundingClientRect()
  const { offsetWidth, offsetHeight } = element
  const wanted = { start: left, center: left + width / 2 - offsetWidth / 2, end: right - offsetWidth }[align]
  const x = Math.max(EDGE_PX, Math.min(wanted, window.innerWidth - offsetWidth - EDGE_PX))
  const hasRoomBelow = bottom + GAP_PX + offsetHeight <= window.innerHeight - EDGE_PX
  const above = top - GAP_PX - offsetHeight
  const y = hasRoomBelow || above < EDGE_PX ? bottom + GAP_PX : above
  element.style.left = `${x}px`
  element.style.top = `${y}px`
}
