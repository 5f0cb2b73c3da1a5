import { useState } from 'preact/hooks'

/** A command with a copy button. */
export function CodeLine({ text, label }: { readonly text: string; readonly label: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), 2_000)
  }
  return (
    <div class="code-line">
      <input readOnly value={text} aria-label={label} onFocus={(event) => event.currentTarget.select()} />
      <button type="button" onClick={copy}>
        {isCopied ? 'Copied' : 'Copy'}
      </button>
    </div>
  )
}
