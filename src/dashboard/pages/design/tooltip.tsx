import './tooltip.css'
import type { ComponentChildren } from 'preact'
import { cloneElement, type VNode } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { placeBeside } from './place.ts'

interface TooltipProps {
  readonly text: ComponentChildren
  /** The tooltip repeats the element's name, so screen readers need not read it. */
  readonly isName?: boolean
  /** One element that can have the focus. */
  readonly children: VNode<{ 'aria-describedby'?: string }>
}

/** A note on an element, on hover and on focus. Escape hides it. It must not be the only place of something important. */
export function Tooltip({ text, isName = false, children }: TooltipProps) {
  const [isShown, setShown] = useState(false)
  const anchor = useRef<HTMLSpanElement>(null)
  const note = useRef<HTMLDivElement>(null)
  const id = useId()
  useEffect(() => {
    const shown = note.current
    if (!isShown || shown === null) return
    shown.showPopover()
    placeBeside(shown, anchor.current!, 'center')
    const hide = () => setShown(false)
    const hideOnEscape = ({ key }: KeyboardEvent) => key === 'Escape' && hide()
    document.addEventListener('keydown', hideOnEscape)
    document.addEventListener('scroll', hide, true)
    return () => {
      document.removeEventListener('keydown', hideOnEscape)
      document.removeEventListener('scroll', hide, true)
    }
  }, [isShown])
  return (
    <span
      ref={anchor}
      class="ui-tooltip-anchor"
      onPointerEnter={({ pointerType }) => pointerType !== 'touch' && setShown(true)}
      onPointerLeave={() => setShown(false)}
      onPointerDown={() => setShown(false)}
      onFocusIn={({ target }) => setShown((target as Element).matches(':focus-visible'))}
      onFocusOut={() => setShown(false)}
    >
      {isName ? children : cloneElement(children, { 'aria-describedby': id })}
      {isShown ? (
        <div ref={note} id={id} class="ui-tooltip" role="tooltip" popover="manual">
          {text}
        </div>
      ) : (
        !isName && (
          <span id={id} hidden>
            {text}
          </span>
        )
      )}
    </span>
  )
}
