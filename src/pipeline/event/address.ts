/** An IP address in canonical form. IPv4-mapped IPv6 addresses are IPv4. */
export interface Address {
  /** Canonical text: dotted decimal, or RFC 5952. */
  readonly text: string
  /** The 32 bits of an IPv4 address, unsigned; -1 for IPv6. */
  readonly v4: number
  /** The eight 16-bit groups of an IPv6 address; undefined for IPv4. */
  readonly v6: readonly number[] | undefined
}

/**
 * Parses an address: four decimal octets without leading zeros, or IPv6 by RFC 4291 section 2.2. Undefined for everything else,
 * also for an address with a zone, port, prefix or white space.
 */
export function parseAddress(text: string): Address | undefined {
  const v4 = parseV4(text)
  if (v4 >= 0) return { text, v4, v6: undefined }
  const groups = parseV6(text)
  if (groups === undefined) return undefined
  if (isMapped(groups)) {
    const mapped = groups[6]! * 65_536 + groups[7]!
    return { text: formatV4(mapped), v4: mapped, v6: undefined }
  }
  return { text: formatV6(groups), v4: -1, v6: groups }
}

/** A copy of the text that may outlive the request. A slice of a body would keep the whole body in memory. */
export function ownText({ v4, text }: Address): string {
  return v4 < 0 ? text : formatV4(v4)
}

const DOT = 46
const ZERO = 48
const LETTER_A = 97

/** Unsigned 32 bits, or -1. */
function parseV4(text: string): number {
  const length = text.length
  if (length < 7 || length > 15) return -1
  let value = 0
  let octet = 0
  let digits = 0
  let dots = 0
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i)
    if (code === DOT) {
      if (digits === 0 || ++dots > 3) return -1
      value = value * 256 + octet
      octet = 0
      digits = 0
      continue
    }
    const digit = code - ZERO
    if (digit < 0 || digit > 9) return -1
    if (digits > 0 && octet === 0) return -1
    octet = octet * 10 + digit
    digits++
    if (octet > 255) return -1
  }
  return dots === 3 && digits > 0 ? value * 256 + octet : -1
}

export function formatV4(value: number): string {
  return `${value >>> 24}.${(value >>> 16) & 255}.${(value >>> 8) & 255}.${value & 255}`
}

/** The eight groups of an IPv6 address, IPv4-mapped ones included; undefined for everything else. */
function parseV6(text: string): number[] | undefined {
  if (text.length < 2 || text.length > 45) return undefined
  const halves = text.split('::')
  if (halves.length > 2) return undefined
  const head = parseGroups(halves[0]!, halves.length === 1)
  if (head === undefined) return undefined
  if (halves.length === 1) return head.length === 8 ? head : undefined
  const tail = parseGroups(halves[1]!, true)
  if (tail === undefined) return undefined
  const gap = 8 - head.length - tail.length
  if (gap < 1) return undefined
  return [...head, ...new Array<number>(gap).fill(0), ...tail]
}

function parseGroups(text: string, mayEndInV4: boolean): number[] | undefined {
  if (text === '') return []
  const parts = text.split(':')
  const groups: number[] = []
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i]!
    if (mayEndInV4 && i === parts.length - 1 && part.includes('.')) {
      const v4 = parseV4(part)
      if (v4 < 0) return undefined
      groups.push(v4 >>> 16, v4 & 65_535)
    } else {
      const group = parseGroup(part)
      if (group < 0) return undefined
      groups.push(group)
    }
  }
  return groups
}

/** 16 bits as one to four hexadecimal digits, or -1. */
function parseGroup(text: string): number {
  if (text.length < 1 || text.length > 4) return -1
  let value = 0
  for (let i = 0; i < text.length; i++) {
    const digit = hexDigit(text.charCodeAt(i))
    if (digit < 0) return -1
    value = value * 16 + digit
  }
  return value
}

function hexDigit(code: number): number {
  const digit = code - ZERO
  if (digit >= 0 && digit <= 9) return digit
  // Lower and upper case differ in one bit.
  const letter = (code | 32) - LETTER_A
  return letter >= 0 && letter <= 5 ? letter + 10 : -1
}

function isMapped(groups: readonly number[]): boolean {
  return groups[5] === 65_535 && groups.slice(0, 5).every((group) => group === 0)
}

/** RFC 5952: lower case, no leading zeros, the first of the longest runs of two or more zero groups as `::`. */
export function formatV6(groups: readonly number[]): string {
  let start = -1
  let longest = 1
  for (let i = 0; i < 8; ) {
    let end = i
    while (end < 8 && groups[end] === 0) end++
    if (end - i > longest) {
      start = i
      longest = end - i
    }
    i = end + 1
  }
  const hex = groups.map((group) => group.toString(16))
  if (start < 0) return hex.join(':')
  return `${hex.slice(0, start).join(':')}::${hex.slice(start + longest).join(':')}`
}
