/** `1,234,567`, of a whole number. Without `toLocaleString`, which loads the data of all languages: 25 ms for the first number of a command. */
export function countText(count: number): string {
  let high = String(Math.abs(count))
  let groups = ''
  while (high.length > 3) {
    groups = `,${high.slice(-3)}${groups}`
    high = high.slice(0, -3)
  }
  return `${count < 0 ? '-' : ''}${high}${groups}`
}

/** `line` for 1, `lines` for any other count. @param many when it is not one with an s */
export function nounFor(count: number, one: string, many = `${one}s`): string {
  return count === 1 ? one : many
}

/** `1 line`, `1,234 lines` */
export function numbered(count: number, one: string, many = `${one}s`): string {
  return `${countText(count)} ${nounFor(count, one, many)}`
}
