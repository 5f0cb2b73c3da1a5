import './external-link.css'
import { ExternalLink as Arrow } from 'lucide-preact'
import type { ComponentChildren } from 'preact'
import { TEXTS } from '../texts/texts.ts'
import { Icon } from './icon.tsx'
import { Hidden } from './layout.tsx'

const texts = TEXTS.design.externalLink

/** A link to another site, in a new tab. The site learns nothing of the page. Nothing is loaded before the click. */
export function ExternalLink({ href, children }: { readonly href: string; readonly children: ComponentChildren }) {
  return (
    <a class="ui-external" href={href} target="_blank" rel="noopener noreferrer">
      {children}
      <Icon of={Arrow} size={12} />
      <Hidden> {texts.opens}</Hidden>
    </a>
  )
}
