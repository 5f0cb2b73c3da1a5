import './may-change.css'
import type { ComponentChildren } from 'preact'
import { Text } from '../design/layout.tsx'
import { useMay } from '../lib/may.ts'

/** Controls that change a workspace. People who only read it see them disabled, with the reason. */
export function MayChange({ children }: { readonly children: ComponentChildren }) {
  const isAllowed = useMay('member')
  if (isAllowed) return <>{children}</>
  return (
    <fieldset class="ui-may-change" disabled>
      <Text tone="soft" isSmall>
        You may read this, but not change it.
      </Text>
      {children}
    </fieldset>
  )
}
