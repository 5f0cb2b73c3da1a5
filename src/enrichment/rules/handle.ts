import { isGenericWord, tokens } from './normalise.ts'

/** Words of registries' handles that name no one. */
const FILLERS: ReadonlySet<string> = new Set('as asn aut net nets network networks ip lan isp block'.split(' '))
/** `AS64500`, `IP4`, a tax number. */
const NUMBERED = /^(?:as|asn|ipv?|net)\d+$|^\d{4,}$/

/** Whether a name is only a registry's handle that names no one: `AS64500`, `IP4-NETWORKS`, `47-2339071`. */
export function isBareHandle(name: string): boolean {
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
