import type { SourceFinding } from '../../../../../schemas/dashboard/sources.ts'
import { CodeBlock } from '../../design/code.tsx'
import { Stack } from '../../design/layout.tsx'
import { Notice } from '../../design/notice.tsx'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.sources.findings

/** The problems of a source, each with its remedy. */
export function Findings({ findings }: { readonly findings: readonly SourceFinding[] }) {
  return (
    <Stack gap={2}>
      {findings.map(({ kind, text, mend, code }) => (
        <Notice key={kind} tone="warn">
          <p>
            {text} {mend}
          </p>
          {code !== null && <CodeBlock text={code} label={texts.code} isWrapped isPlain />}
        </Notice>
      ))}
    </Stack>
  )
}
