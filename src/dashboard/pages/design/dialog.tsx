import './dialog.css'
import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { classes } from './classes.ts'

interface DialogProps {
  /** A question or the name of a task. */
  readonly title: string
  readonly onClose: () => void
  readonly isWide?: boolean
  /** Buttons at the end. The first one gets the focus when nothing before it can, so that must be the harmless one. */
  readonly actions?: ComponentChildren
  readonly children?: ComponentChildren
}

/** A modal dialog. Escape closes it, and the focus returns to where it was. */
export function Dialog({ title, onClose, isWide, actions, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useLayoutEffect(() => {
    const shown = dialog.current
    shown?.showModal()
    // Return the focus to the element that opened it.
    return () => shown?.close()
  }, [])
  return (
    <dialog ref={dialog} class={classes('ui-dialog', isWide && 'is-wide')} aria-labelledby={id} onClose={onClose}>
      <div class="ui-dialog-body">
        <h2 id={id}>{title}</h2>
        {children}
        {actions && <div class="ui-dialog-actions">{actions}</div>}
      </div>
    </dialog>
  )
}
