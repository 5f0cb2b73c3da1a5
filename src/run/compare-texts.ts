/** Orders texts by their UTF-16 code units, which no locale changes. For `sort`. */
export function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
