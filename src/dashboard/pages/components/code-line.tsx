import { CopyButton } from './copy-button.tsx'

/** A command with a copy button. */
export function CodeLine({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <div class="code-line">
      <input readOnly value={text} aria-label={label} onFocus={(event) => event.currentTarget.select()} />
      <CopyButton text={text} />
    </div>
  )
}
