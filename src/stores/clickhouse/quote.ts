/** A string as an SQL literal. */
export function quote(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`
}

/** The name of a table or a column in SQL. */
export function quoteName(name: string): string {
  return `\`${name.replace(/[\\`]/g, '\\$&')}\``
}
