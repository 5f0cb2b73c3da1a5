import './may-change.css'
import type { ComponentChildren } from 'preact'
import { Text } from '../design/layout.tsx'
import { useMay } from '../lib/may.ts'
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.components.mayChange

/** Controls that change a workspace. People who only read it see them disabled, with the reason. */
export function MayChange({ children }: { readonly children: ComponentChildren }) {
  const isAllowed = useMay('member')
  if (isAllowed) return <>{children}</>
  return (
    <fieldset class="ui-may-change" disabled>
      <Text tone="soft" isSmall>
        {texts.readOnly}
      </Text>
      {children}
    </fieldset>
  )
}
