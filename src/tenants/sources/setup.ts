import type { SourceSetup } from '../../../schemas/dashboard/sources.ts'
import { reservedRanges } from '../../enrichment/addresses/reserved.ts'
import type { SetupBlock, SetupPlace, SourceTool } from '../../pipeline/declaration/source.ts'
import { parseAddress } from '../../pipeline/event/address.ts'
import { InputError } from '../../run/errors.ts'
import type { StoredSource } from '../stores.ts'

/**
 * The blocks that people paste for a source.
 * @param key the server key; undefined: it was shown when the source was made, and is not known any more
 */
export function setupOf(
  tool: SourceTool,
  { prefix: id, source }: Pick<StoredSource, 'prefix' | 'source'>,
  base: string,
  key?: string,
): SourceSetup {
  const { browser_key: browserKey } = source
  const place: SetupPlace = { base, id, key, browserKey }
  const blocks = tool.setup(place, source)
  const isAddressShown = tool.group !== 'pulls' && blocks.some((block) => block.key !== undefined)
  return {
    base,
    browser_key: browserKey ?? null,
    warning: (isAddressShown && baseWarning(base)) || null,
    note: (key === undefined && noteOf(tool, source)) || null,
    blocks: blocks.map(({ title, about = null, code, key: sort = null, isSample = false, place: site = null }) => ({
      ...{ title, about, code, key: sort, is_sample: isSample, site },
    })),
  }
}

/** The key that is not shown, and what to do about it; undefined: all are shown. */
function noteOf(
  { keys = 'server' }: SourceTool,
  { pull, browser_key: browserKey }: StoredSource['source'],
): string | undefined {
  if (pull !== undefined) return undefined
  if (keys !== 'server' && browserKey === undefined) {
    return (
      'This source is from a version without browser keys, and its key is not stored. For a key that is made for pages and can be ' +
      'shown again, make a new source, and revoke this one when no page has its key any more.'
    )
  }
  if (keys === 'browser') return undefined
  return (
    'The server key is secret, and was shown only when the source was made. If it is lost, or was ever in a page, make a new source and ' +
    'revoke this one.'
  )
}

/** The blocks as a text for a terminal. Code has no margin, so that a copied line is right. */
export function setupText({ blocks }: Pick<SourceSetup, 'blocks'>): string {
  return blocks
    .map(({ title, about, code, is_sample: isSample }) => {
      const kind = isSample ? ' (a sample: change it)' : ''
      return `# ${title}${kind}${about === null ? '' : `. ${about}`}\n\n${code}\n`
    })
    .join('\n')
}

/** The line of code that gives an event the address of its visitor; undefined: the kind needs none. */
export function addressLineOf(tool: SourceTool): string | undefined {
  const blocks = tool.setup({ base: 'https://HOST', id: 'SOURCE_ID', key: 'SOURCE_KEY' })
  return blocks.find(({ givesAddress }: SetupBlock) => givesAddress)?.code
}

/** @throws InputError when the address of all events of a kind is that of the connection */
export function assertAddressCounts(tool: SourceTool | undefined, kind: string): void {
  if (tool?.keys !== 'browser') return
  throw new InputError(
    `address: sources of the kind ${kind} have a browser key only, so the address is that of the connection`,
  )
}

const LOCAL_NAME = /^localhost$|\.(?:localhost|local|internal|lan|home|intranet|test)$/

/** The problem of an address for senders elsewhere, and the remedy; undefined: none. */
export function baseWarning(base: string): string | undefined {
  const name = new URL(base).hostname.replace(/^\[|\]$/g, '')
  const address = parseAddress(name)
  const isLocal =
    address === undefined ? LOCAL_NAME.test(name) || !name.includes('.') : reservedRanges().find(address) !== undefined
  if (!isLocal) return undefined
  return (
    `${base} can be reached from this machine or network only. Senders elsewhere, such as the browsers of your visitors, need the address ` +
    'at which the internet reaches the API of ipid, such as https://events.example.com.'
  )
}
