import './button.css'
import type { LucideIcon } from 'lucide-preact'
import type { ButtonHTMLAttributes, ComponentChildren, Ref } from 'preact'
import { Link } from 'wouter-preact'
import { classes } from './classes.ts'
import { Icon } from './icon.tsx'
import { Tooltip } from './tooltip.tsx'

interface Looks {
  /** One `primary` on a page at most. `quiet` has no border; `danger` destroys something. */
  readonly variant?: 'default' | 'primary' | 'danger' | 'quiet'
  readonly size?: 's' | 'm'
  readonly icon?: LucideIcon
}

type Native = Pick<
  ButtonHTMLAttributes<HTMLButtonElement>,
  | 'onClick'
  | 'disabled'
  | 'id'
  | 'aria-label'
  | 'aria-expanded'
  | 'aria-controls'
  | 'aria-haspopup'
  | 'aria-pressed'
  | 'aria-describedby'
>

interface ButtonProps extends Looks, Native {
  /** Default `button`, which does not send a form. */
  readonly type?: 'button' | 'submit'
  readonly buttonRef?: Ref<HTMLButtonElement>
  readonly children?: ComponentChildren
}

/** A button. Its text names the action: a verb and its object. */
export function Button({ variant, size, icon, type = 'button', buttonRef, children, ...native }: ButtonProps) {
  return (
    <button type={type} ref={buttonRef} class={nameOf({ variant, size })} {...native}>
      {icon && <Icon of={icon} />}
      {children}
    </button>
  )
}

interface LinkButtonProps extends Looks {
  /** A page of ours, or `mailto:`. */
  readonly href: string
  /** The browser saves the answer as a file. */
  readonly isDownload?: boolean
  readonly 'aria-label'?: string
  readonly children?: ComponentChildren
}

/** A link that looks like a button. */
export function LinkButton({ variant, size, icon, href, isDownload, children, ...native }: LinkButtonProps) {
  const name = nameOf({ variant, size })
  const content = (
    <>
      {icon && <Icon of={icon} />}
      {children}
    </>
  )
  return isDownload || href.startsWith('mailto:') ? (
    <a class={name} href={href} download={isDownload} {...native}>
      {content}
    </a>
  ) : (
    <Link class={name} href={href} {...native}>
      {content}
    </Link>
  )
}

interface IconButtonProps extends Omit<ButtonProps, 'icon' | 'children' | 'aria-label'> {
  readonly icon: LucideIcon
  /** The action; screen readers say it, and a tooltip shows it. */
  readonly label: string
}

/** A button with only an icon, for well-known actions that repeat. */
export function IconButton({
  icon,
  label,
  variant = 'quiet',
  size,
  buttonRef,
  type = 'button',
  ...native
}: IconButtonProps) {
  return (
    <Tooltip text={label} isName>
      <button
        type={type}
        ref={buttonRef}
        class={classes(nameOf({ variant, size }), 'is-square')}
        aria-label={label}
        {...native}
      >
        <Icon of={icon} />
      </button>
    </Tooltip>
  )
}

function nameOf({ variant = 'default', size = 'm' }: Looks): string {
  return classes('ui-button', variant !== 'default' && `is-${variant}`, size === 's' && 'is-small')
}
