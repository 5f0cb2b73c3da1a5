/**
 * How an AS's IPv4 space is spread. Access providers and hosters collect theirs piece by piece, and a company has one block.
 */
export interface Scatter {
  /** Contiguous blocks. */
  readonly blocks: number
  /** Distinct /8 and /16 with announced addresses. */
  readonly slash8s: number
  readonly slash16s: number
  /** First byte of the largest block, which tells the region and the age of the allocation. */
  readonly slash8: number
}

/** The packed scatter of an AS without IPv4. */
const NO_IPV4 = 0
/** Larger powers of two are rare, and count as these. */
const BLOCKS_MAX = 8
const SLASH8S_MAX = 6
const SLASH16S_MAX = 8

/**
 * Packs a scatter into one small number, because memory holds one for each AS. After the first byte, three digits are powers
 * of two: `193211` has 4 blocks in 2 /8 and 2 /16, the largest in 193.0.0.0/8.
 */
export function packScatter({ blocks, slash8s, slash16s, slash8 }: Scatter): number {
  if (blocks === 0) return NO_IPV4
  const digits = [power(blocks, BLOCKS_MAX), power(slash8s, SLASH8S_MAX), power(slash16s, SLASH16S_MAX)]
  return digits.reduce((number, digit) => 10 * number + digit, slash8)
}

/** First byte of the largest block of a packed scatter; 0 without IPv4. */
export function firstByteOf(packed: number): number {
  return Math.floor(packed / 1_000)
}

/**
 * The features of a packed scatter: `r:2` the number of blocks, `8:1` of /8, `16:0` of /16, all as powers of two, also with
 * size and IPv6; `o:193` the first byte.
 */
export function scatterFeatures(packed: number, size: string, v6: string): string[] {
  if (packed === NO_IPV4) return []
  const slash16s = packed % 10
  const slash8s = Math.floor(packed / 10) % 10
  const blocks = Math.floor(packed / 100) % 10
  return [
    `r:${blocks}`,
    `8:${slash8s}`,
    `16:${slash16s}`,
    `o:${firstByteOf(packed)}`,
    `8:${slash8s} s:${size}`,
    `r:${blocks} s:${size}`,
    `8:${slash8s} v:${v6}`,
  ]
}

function power(count: number, most: number): number {
  return Math.min(Math.round(Math.log2(count)), most)
}
