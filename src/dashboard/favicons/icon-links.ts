/** Icons of a page that are tried. */
const LINKS_MAX = 2
/** Larger icons are scaled down; smaller ones look blurred on a dense screen. */
const GOOD_PX = 64
/** An icon without a stated size. */
const USUAL_PX = 32
const APPLE_PX = 180

const LINK = /<link\s([^<>]*)>/gi
const ATTRIBUTE = /([^\s"'=/]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"']+))?/g

/** Where a page's icons are, the best first. Leaves out SVG. @param html the page, or its beginning */
export function iconLinksOf(html: string): string[] {
  const found = [...html.matchAll(LINK)].flatMap(([, attributes]) => iconOf(attributes!) ?? [])
  const rank = ({ px }: FoundIcon) => (px >= GOOD_PX ? px : Number.MAX_SAFE_INTEGER - px)
  const hrefs = found.sort((a, b) => rank(a) - rank(b)).map(({ href }) => href)
  return [...new Set(hrefs)].slice(0, LINKS_MAX)
}

interface FoundIcon {
  readonly href: string
  readonly px: number
}

function iconOf(text: string): FoundIcon | undefined {
  const attributes = new Map<string, string>()
  for (const [, name, value = ''] of text.matchAll(ATTRIBUTE)) {
    const key = name!.toLowerCase()
    // As in browsers, the first of two counts.
    if (!attributes.has(key)) attributes.set(key, value.replace(/^["']|["']$/g, '').replaceAll('&amp;', '&'))
  }
  const rel = (attributes.get('rel') ?? '').toLowerCase().split(/\s+/)
  const isApple = rel.some((word) => word.startsWith('apple-touch-icon'))
  const href = attributes.get('href')?.trim() ?? ''
  const isSvg = /svg/i.test(attributes.get('type') ?? '') || /\.svg(?:[?#]|$)/i.test(href)
  if (href === '' || isSvg || !(isApple || rel.includes('icon'))) return undefined
  const size = /\d{1,4}/.exec(attributes.get('sizes') ?? '')
  return { href, px: size === null ? (isApple ? APPLE_PX : USUAL_PX) : Number(size[0]) }
}
