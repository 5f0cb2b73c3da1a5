import type { SourceFinding } from '../../../../../schemas/dashboard/sources.ts'

/** What is wrong with a source, each with what mends it. */
export function Findings({ findings }: { readonly findings: readonly SourceFinding[] }) {
  if (findings.length === 0) return null
  return (
    <ul class="findings">
      {findings.map(({ kind, text, mend, code }) => (
        <li key={kind}>
          {text} {mend}
          {code !== null && <code>{code}</code>}
        </li>
      ))}
    </ul>
  )
}
