import './edit-in-place.css'
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { TEXTS } from '../texts/texts.ts'
import { Hidden } from './layout.tsx'

const texts = TEXTS.design.editInPlace

interface EditInPlaceProps {
  /** What the value is, in lower case: "owner". */
  readonly label: string
  /** The value; undefined: none. */
  readonly children?: ComponentChildren
  /** The form that takes the place of the value. It calls `close` when it is done. */
  readonly form: (close: () => void) => ComponentChildren
}

/** A value that a click makes a form. Escape leaves the form, and the focus returns to the value. */
export function EditInPlace({ label, children, form }: EditInPlaceProps) {
  const [isOpen, setOpen] = useState(false)
  const root = useRef<HTMLDivElement>(null)
  const wasOpen = useRef(false)
  useLayoutEffect(() => {
    const shown = root.current!
    if (isOpen !== wasOpen.current) shown.querySelector<HTMLElement>('input, textarea, button')?.focus()
    wasOpen.current = isOpen
    if (!isOpen) return
    const press = (event: KeyboardEvent) => {
      if (event.key === 'Escape') setOpen(false)
    }
    shown.addEventListener('keydown', press)
    return () => shown.removeEventListener('keydown', press)
  }, [isOpen])
  return (
    <div ref={root} class="ui-edit">
      {isOpen ? (
        form(() => setOpen(false))
      ) : (
        <button type="button" class="ui-edit-value" onClick={() => setOpen(true)}>
          {children ?? <span class="ui-edit-none">{texts.add}</span>}
          <Hidden>{children === undefined ? texts.addTo(label) : texts.edit(label)}</Hidden>
        </button>
      )}
    </div>
  )
}
