import type { Exchange } from '../../../http/engine/exchange.ts'
import { isRawKey } from '../../../tenants/key.ts'
import { isBase64 } from './payload.ts'

/** What every key has. Most text has nothing like it, and is not searched further. */
const KEY_LIKE = /_[0-9a-f]{40}/

/** Finds the key of a request that has none in its head. @param onlyStart see `Exchange.search` */
export type FindKey = (exchange: Exchange, onlyStart: boolean) => string | undefined | Promise<string | undefined>

/**
 * Finds the key in the body of a request, or in its query when it has no body, without parsing it: the first key that is the value of one
 * of the fields, at any level, in JSON or a form. Base64 is searched in the first 64 KB: the libraries that send it have the key in their
 * first event.
 * @param fields names of the fields
 */
export function bodyKeyFinder(fields: readonly string[]): FindKey {
  const names = fields.map((name) => (name.startsWith('$') ? `(?:\\$|%24)${name.slice(1)}` : name)).join('|')
  const [quote, space] = ['(?:"|%22)', '(?:\\s|\\+|%20)*']
  const field = new RegExp(
    `(?:["?&]|%22|%3F|%26)(?:${names})${quote}?${space}(?::|=|%3A|%3D)${space}${quote}?([a-z]{1,8}_[0-9a-f]{40,64})(?=["&]|%22|%26)`,
    'gi',
  )
  const find = (text: string): string | undefined => {
    if (!KEY_LIKE.test(text)) return undefined
    for (const [, key] of text.matchAll(field)) if (isRawKey(key!)) return key
    return undefined
  }
  const findInEncoded = (text: string): string | undefined => {
    const data = base64In(text)
    return data === undefined ? undefined : find(Buffer.from(data, 'base64').toString('latin1'))
  }
  return (exchange, onlyStart) => {
    if (!exchange.request.head.hasBody) {
      const { query } = exchange.request
      return find(`&${query}&`) ?? findInEncoded(query)
    }
    return exchange.search((text, { isFirst, isLast }) => {
      const key = find(`${isFirst ? '&' : ''}${text}${isLast ? '&' : ''}`)
      return key ?? (isFirst ? findInEncoded(text) : undefined)
    }, onlyStart)
  }
}

/** The base64 that a text is, or that a form has as `data`; undefined when it has none. */
function base64In(text: string): string | undefined {
  const start = text.trimStart()
  if (start.startsWith('{') || start.startsWith('[')) return undefined
  const at = start.startsWith('data=') ? 0 : start.indexOf('&data=') + 1
  const isForm = at > 0 || start.startsWith('data=')
  const end = start.indexOf('&', at)
  const data = isForm ? start.slice(at + 'data='.length, end < 0 ? undefined : end) : start
  const plain = data.replaceAll(/%2B/gi, '+').replaceAll(/%2F/gi, '/').replaceAll(/%3D/gi, '=').replaceAll(' ', '+')
  return isBase64(plain) ? plain : undefined
}
