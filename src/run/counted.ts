/** `1,234,567` */
export function countText(count: number): string {
  return count.toLocaleString('en-US')
}

/** `line` for 1, `lines` for any other count. @param many when it is not one with an s */
export function nounFor(count: number, one: string, many = `${one}s`): string {
  return count === 1 ? one : many
}

/** `1 line`, `1,234 lines` */
export function numbered(count: number, one: string, many = `${one}s`): string {
  return `${countText(count)} ${nounFor(count, one, many)}`
}
