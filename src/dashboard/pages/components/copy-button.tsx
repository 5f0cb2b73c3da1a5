import { useState } from 'preact/hooks'

/** Copies a text. @param label what is copied, where nothing beside the button says it */
export function CopyButton({ text, label }: { readonly text: string; readonly label?: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), 2_000)
  }
  return (
    <button type="button" aria-label={isCopied || label === undefined ? undefined : `Copy: ${label}`} onClick={copy}>
      {isCopied ? 'Copied' : 'Copy'}
    </button>
  )
}
