import './code.css'
import { Check, Copy } from 'lucide-preact'
import { useState } from 'preact/hooks'
import { TEXTS } from '../texts/texts.ts'
import { Button } from './button.tsx'
import { classes } from './classes.ts'

const texts = TEXTS.design.code

const COPIED_MS = 2_000

/** Copies a text. @param label names the text, where nothing beside the button does */
export function CopyButton({ text, label }: { readonly text: string; readonly label?: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), COPIED_MS)
  }
  return (
    <Button
      size="s"
      icon={isCopied ? Check : Copy}
      aria-label={isCopied || label === undefined ? undefined : texts.copyOf(label)}
      onClick={copy}
    >
      {isCopied ? texts.copied : texts.copy}
    </Button>
  )
}

/** A command in one line, with a copy button. */
export function CodeLine({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <div class="ui-code-line">
      <input readOnly value={text} aria-label={label} onFocus={(event) => event.currentTarget.select()} />
      <CopyButton text={text} />
    </div>
  )
}

interface CodeBlockProps {
  readonly text: string
  /** Description, for screen readers. */
  readonly label: string
  /** Lines break where they do not fit. */
  readonly isWrapped?: boolean
  /** Without a copy button. */
  readonly isPlain?: boolean
}

/** Several lines of code, with a copy button. */
export function CodeBlock({ text, label, isWrapped, isPlain }: CodeBlockProps) {
  return (
    <div class={classes('ui-code-block', isWrapped && 'is-wrapped', !isPlain && 'is-copied')}>
      {!isPlain && <CopyButton text={text} label={label} />}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrolling needs the keyboard */}
      <section aria-label={label} tabIndex={0}>
        <pre>{text.trimEnd()}</pre>
      </section>
    </div>
  )
}
