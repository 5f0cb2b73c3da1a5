import './notice.css'
import { CircleAlert, CircleCheck, Info, type LucideIcon, TriangleAlert } from 'lucide-preact'
import type { ComponentChildren } from 'preact'
import type { ApiError } from '../lib/api.ts'
import { capitalised } from '../lib/format.ts'
import { TEXTS } from '../texts/texts.ts'
import { Button } from './button.tsx'
import { classes } from './classes.ts'
import { Icon } from './icon.tsx'

const texts = TEXTS.design.notice

const ICONS = { neutral: Info, good: CircleCheck, warn: TriangleAlert, bad: CircleAlert } as const

interface NoticeProps {
  readonly tone?: keyof typeof ICONS
  readonly title?: string
  /** Announced by screen readers: `alert` at once, `status` when they are idle. */
  readonly role?: 'alert' | 'status'
  readonly children?: ComponentChildren
}

/** A note that a person should read first. */
export function Notice({ tone = 'neutral', title, role, children }: NoticeProps) {
  return (
    <div class={classes('ui-notice', tone !== 'neutral' && `is-${tone}`)} role={role}>
      <Icon of={ICONS[tone]} size={18} />
      <div class="ui-notice-body">
        {title && <h2>{title}</h2>}
        {children}
      </div>
    </div>
  )
}

/** An error of a call, and the remedy. */
export function Problem({ error, onRetry }: { readonly error: ApiError | Error; readonly onRetry?: () => void }) {
  return (
    <Notice tone="bad" role="alert">
      <p>{sentence(error.message)}</p>
      {'status' in error && error.status >= 500 && <p>{texts.safe(<code>./ipid status</code>)}</p>}
      {onRetry && (
        <Button size="s" onClick={onRetry}>
          {texts.again}
        </Button>
      )}
    </Notice>
  )
}

/** Errors of the API start in lower case. */
export function sentence(text: string): string {
  return `${capitalised(text)}${/[.?!)"]$/.test(text) ? '' : '.'}`
}

interface EmptyStateProps {
  /** Name of the missing content. */
  readonly title: string
  readonly icon?: LucideIcon
  /** The next step: a sentence, and a button or a command. */
  readonly children?: ComponentChildren
}

/** Shown where there are no data yet, with the next step. */
export function EmptyState({ title, icon, children }: EmptyStateProps) {
  return (
    <div class="ui-empty">
      {icon && (
        <span class="ui-empty-icon">
          <Icon of={icon} size={22} />
        </span>
      )}
      <h2>{title}</h2>
      {children}
    </div>
  )
}
