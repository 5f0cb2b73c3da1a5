import { Text } from '../design/layout.tsx'
import { isLocalHost } from '../lib/local-host.ts'
import { useMay } from '../lib/may.ts'
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.components.localLink

/** Says below a link that only this machine reaches it. Only operators can change that, so only they see the setting. */
export function LocalLink({ url }: { readonly url: URL }) {
  const isOperator = useMay('operator')
  if (!isLocalHost(url.hostname)) return null
  return (
    <Text tone="soft" isSmall>
      {isOperator ? texts.setting(<code>DASHBOARD_URL</code>) : texts.ask}
    </Text>
  )
}
