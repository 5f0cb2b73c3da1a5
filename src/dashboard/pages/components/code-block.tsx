import { CopyButton } from './copy-button.tsx'

/** Several lines of code with a copy button. */
export function CodeBlock({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    <div class="code-block">
      <CopyButton text={text} label={label} />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrolling needs the keyboard */}
      <section aria-label={label} tabIndex={0}>
        <pre>{text.trimEnd()}</pre>
      </section>
    </div>
  )
}
