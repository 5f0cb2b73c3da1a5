import './popover.css'
import { Check, type LucideIcon } from 'lucide-preact'
import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { classes } from './classes.ts'
import { Icon } from './icon.tsx'
import { placeBeside } from './place.ts'

/** Attributes for the button that opens a popover. */
export interface TriggerProps {
  readonly buttonRef: (element: HTMLButtonElement | null) => void
  readonly onClick: () => void
  readonly 'aria-expanded': boolean
  readonly 'aria-controls': string
  readonly 'aria-haspopup': 'dialog' | 'menu'
}

interface PopoverProps {
  /** Name of the popover, for screen readers. */
  readonly label: string
  /** Draws the button, with the attributes that it gets: `(props) => <Button {...props}>Columns</Button>`. */
  readonly trigger: (props: TriggerProps) => ComponentChildren
  /** Which edges of button and popover meet. */
  readonly align?: 'start' | 'end'
  readonly role?: 'dialog' | 'menu'
  /** Opens as soon as it is drawn. */
  readonly isOpenAtFirst?: boolean
  /** The content. It is drawn only while the popover is open. */
  readonly children: (close: () => void) => ComponentChildren
}

/**
 * Something small that opens beside its button, above everything else. A click beside it and Escape close it, and the focus returns to
 * the button.
 */
export function Popover({
  label,
  trigger,
  align = 'start',
  role = 'dialog',
  isOpenAtFirst = false,
  children,
}: PopoverProps) {
  const [isOpen, setOpen] = useState(isOpenAtFirst)
  const button = useRef<HTMLButtonElement | null>(null)
  const content = useRef<HTMLDivElement>(null)
  const id = useId()
  const close = () => content.current?.hidePopover()
  // Before the next key: an effect that waits for the paint would lose a key that follows the click at once.
  useLayoutEffect(() => {
    const shown = content.current!
    if (!isOpen) return
    shown.showPopover()
    const place = () => placeBeside(shown, button.current!, align)
    place()
    shown.querySelector<HTMLElement>('input, button, a, select, [tabindex="0"]')?.focus()
    const resized = new ResizeObserver(place)
    resized.observe(shown)
    window.addEventListener('scroll', place, true)
    return () => {
      resized.disconnect()
      window.removeEventListener('scroll', place, true)
    }
  }, [isOpen])
  return (
    <>
      {trigger({
        buttonRef: (element) => {
          button.current = element
        },
        // The click that closes a popover from outside is a click on its button too.
        onClick: () => (content.current?.matches(':popover-open') ? close() : setOpen(true)),
        'aria-expanded': isOpen,
        'aria-controls': id,
        'aria-haspopup': role,
      })}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: its role is one of two, and keys move between its items */}
      <div
        ref={content}
        id={id}
        class="ui-popover"
        popover="auto"
        {...{ role, 'aria-label': label }}
        onKeyDown={role === 'menu' ? moveInMenu : undefined}
        onToggle={(event) => {
          if (event.newState !== 'closed') return
          setOpen(false)
          if (document.activeElement === document.body || content.current?.contains(document.activeElement)) {
            button.current?.focus()
          }
        }}
      >
        {isOpen && children(close)}
      </div>
    </>
  )
}

function moveInMenu(event: KeyboardEvent): void {
  const items = [...(event.currentTarget as Element).querySelectorAll<HTMLElement>('.ui-menu-item:not(:disabled)')]
  const at = items.indexOf(document.activeElement as HTMLElement)
  const next = { ArrowDown: at + 1, ArrowUp: at - 1 + items.length, Home: 0, End: items.length - 1 }[event.key]
  if (next === undefined || items.length === 0) return
  event.preventDefault()
  items[next % items.length]!.focus()
}

/** An entry of a menu; `'line'` separates. */
export type MenuEntry =
  | 'line'
  | {
      readonly label: string
      readonly icon?: LucideIcon
      /** A link instead of an action. */
      readonly href?: string
      readonly onSelect?: () => void
      readonly isDanger?: boolean
      readonly isDisabled?: boolean
      /** Shows whether the entry is chosen. */
      readonly isChecked?: boolean
    }

interface MenuProps extends Pick<PopoverProps, 'label' | 'trigger' | 'align'> {
  readonly entries: readonly MenuEntry[]
}

/** A button that opens a list of actions or links. Arrow keys move in it. */
export function Menu({ label, trigger, align, entries }: MenuProps) {
  return (
    <Popover label={label} trigger={trigger} align={align} role="menu">
      {(close) =>
        entries.map((entry, i) =>
          entry === 'line' ? <hr key={i} class="ui-menu-line" /> : <Item key={entry.label} {...entry} onDone={close} />,
        )
      }
    </Popover>
  )
}

function Item({
  label,
  icon,
  href,
  onSelect,
  isDanger,
  isDisabled,
  isChecked,
  onDone,
}: Exclude<MenuEntry, 'line'> & { onDone: () => void }) {
  const name = classes('ui-menu-item', isDanger && 'is-danger')
  const content = (
    <>
      {icon && <Icon of={icon} />}
      <span class="ui-grow">{label}</span>
      {isChecked && <Icon of={Check} />}
    </>
  )
  if (href !== undefined) {
    return (
      <Link class={name} href={href} role="menuitem" onClick={onDone}>
        {content}
      </Link>
    )
  }
  return (
    <button
      type="button"
      class={name}
      {...(isChecked === undefined ? { role: 'menuitem' } : { role: 'menuitemradio', 'aria-checked': isChecked })}
      disabled={isDisabled}
      onClick={() => {
        onDone()
        onSelect?.()
      }}
    >
      {content}
    </button>
  )
}

interface ChoiceProps {
  readonly label: string
  readonly isChosen: boolean
  readonly onChoose: () => void
}

/** One of several choices in a popover that has other things too. */
export function Choice({ label, isChosen, onChoose }: ChoiceProps) {
  return (
    <button type="button" class="ui-menu-item" aria-pressed={isChosen} onClick={onChoose}>
      <span class="ui-grow">{label}</span>
      {isChosen && <Icon of={Check} />}
    </button>
  )
}
