import './steps.css'
import { Check } from 'lucide-preact'
import type { ComponentChildren } from 'preact'
import { TEXTS } from '../texts/texts.ts'
import { classes } from './classes.ts'
import { Icon } from './icon.tsx'
import { Hidden } from './layout.tsx'

const texts = TEXTS.design.steps

interface StepProps {
  readonly number: number
  /** What to do: a verb and its object. */
  readonly title: string
  /** What is done, in a few words. */
  readonly note?: string | undefined
  readonly isDone: boolean
  readonly isOpen: boolean
  readonly onToggle: (isOpen: boolean) => void
  readonly children: ComponentChildren
}

/** A list of steps that a person does once. Its children are `Step`s. */
export function Steps({ label, children }: { readonly label: string; readonly children: ComponentChildren }) {
  return (
    <ol class="ui-steps" aria-label={label}>
      {children}
    </ol>
  )
}

/** A step: a line that opens. */
export function Step({ number, title, note, isDone, isOpen, onToggle, children }: StepProps) {
  return (
    <li class={classes('ui-step', isDone && 'is-done')}>
      <details open={isOpen} onToggle={(event) => onToggle(event.currentTarget.open)}>
        <summary>
          <span class="ui-step-mark" aria-hidden="true">
            {isDone ? <Icon of={Check} size={14} /> : number}
          </span>
          <span class="ui-step-title">
            {title}
            {isDone && <Hidden> {texts.done}</Hidden>}
          </span>
          {note !== undefined && <span class="ui-step-note">{note}</span>}
        </summary>
        <div class="ui-step-body">{children}</div>
      </details>
    </li>
  )
}
