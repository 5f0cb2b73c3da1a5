import { isGenericWord, tokens } from './normalise.ts'

/** Words of registries' handles that name no one. */
const FILLERS: ReadonlySet<string> = new Set('as asn aut net nets network networks ip lan isp block'.split(' '))
/** `AS64500`, `IP4`, a tax number. */
const NUMBERED = /^(?:as|asn|ipv?|net)\d+$|^\d{4,}$/

/** Numbers that a registry gave another registry: `IRINN AS-BLOCK`, `VNNIC-4byte-ASBLOCK-AP`. */
const REGISTRY_BLOCK = /^(?:\S+ ){0,4}\S*\basn?[ -]?block\b/i
/** Canada's registers name a company without a name by its number and place: `9471-6685 Quebec Inc.`. */
const NUMBERED_COMPANY =
  /^\d[\d-]{4,} (?:canada|quebec|québec|ontario|alberta|b\.? ?c\.?|british columbia|manitoba|saskatchewan|nova scotia|new brunswick|newfoundland(?: and labrador)?|prince edward island|yukon)(?: (?:inc|ltd|limited|corp|co|company|incorporated|corporation|ulc)\b\.?)?$/i

/**
 * Whether a name is only a registry's handle or number that names no one: `AS64500`, `IP4-NETWORKS`, `47-2339071`, `CNNIC ASN block`,
 * `2267921 Ontario`.
 */
export function isBareHandle(name: string): boolean {
  if (REGISTRY_BLOCK.test(name) || NUMBERED_COMPANY.test(name)) return true
  const words = tokens(name)
  return (
    words.some((word) => NUMBERED.test(word)) &&
    words.every((word) => FILLERS.has(word) || NUMBERED.test(word) || /^\d+$/.test(word))
  )
}

const ADDRESS_START = /^(?:jia |plot )?(?:no[. ] ?\d|no\d|\d+(?:st|nd|rd|th) floor|\d+\/?f\b|floor \d)/i
const STREET = /\b(?:road|street|avenue|lane|rd|building)\b/i

/** Whether a name is only a postal address: `No.11 Xi San Huan Zhong Road, Beijing`. */
export function isPostalAddress(name: string): boolean {
  return ADDRESS_START.test(name) && STREET.test(name) && !isGenericWord(tokens(name).at(-1) ?? '')
}
