import './fold.css'
import { SlidersHorizontal } from 'lucide-preact'
import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'
import { Badge } from './badge.tsx'
import { Button } from './button.tsx'
import { classes } from './classes.ts'

interface FoldProps {
  /** Name of the button. */
  readonly label: string
  /** How many of the children are in use; 0 shows none. */
  readonly count: number
  readonly children: ComponentChildren
}

/** Children of a row. Up to 640 pixels a button shows and hides them, and says how many are in use; a wider window shows them always. */
export function Fold({ label, count, children }: FoldProps) {
  const [isOpen, setOpen] = useState(false)
  const id = useId()
  return (
    <>
      <div class="ui-fold-button">
        <Button
          size="s"
          icon={SlidersHorizontal}
          {...{ 'aria-expanded': isOpen, 'aria-controls': id }}
          onClick={() => setOpen(!isOpen)}
        >
          {label}
          {count > 0 && <Badge tone="accent">{count}</Badge>}
        </Button>
      </div>
      <div id={id} class={classes('ui-fold', isOpen && 'is-open')}>
        {children}
      </div>
    </>
  )
}

/** A line of its own among the children. */
export function FoldLine({ children }: { readonly children: ComponentChildren }) {
  return <div class="ui-fold-line">{children}</div>
}
