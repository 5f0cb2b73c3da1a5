import { Tabs } from '../../design/tabs.tsx'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.readPages.tabs

interface PageTabsProps {
  readonly tenant: string
  /** Of the URL: the other view has the same days. */
  readonly state: URLSearchParams
  readonly current: 'pages' | 'channels'
}

/** What companies read, and what brought them. */
export function PageTabs({ tenant, state, current }: PageTabsProps) {
  const kept = ['days', 'from', 'to'].flatMap((name) => (state.has(name) ? [[name, state.get(name)!]] : []))
  const query = kept.length === 0 ? '' : `?${new URLSearchParams(kept)}`
  return (
    <Tabs
      label={texts.views}
      tabs={[
        { href: `/t/${tenant}/pages${query}`, label: texts.pages, isCurrent: current === 'pages' },
        { href: `/t/${tenant}/pages/channels${query}`, label: texts.channels, isCurrent: current === 'channels' },
      ]}
    />
  )
}
