import { useState } from 'preact/hooks'

/** Several lines of code with a copy button. */
export function CodeBlock({ text, label }: { readonly text: string; readonly label: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), 2_000)
  }
  return (
    <div class="code-block">
      <button type="button" aria-label={isCopied ? undefined : `Copy: ${label}`} onClick={copy}>
        {isCopied ? 'Copied' : 'Copy'}
      </button>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrolling needs the keyboard */}
      <section aria-label={label} tabIndex={0}>
        <pre>{text.trimEnd()}</pre>
      </section>
    </div>
  )
}
