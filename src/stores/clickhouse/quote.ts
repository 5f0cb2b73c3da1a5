/** A string as a literal of SQL. */
export function quote(text: string): string {
  return `'${text.replace(/[\\']/g, '\\$&')}'`
}

/** The name of a table or a column in SQL. */
export function quoteName(name: string): string {
  return `\`${name.replace(/[\\`]/g, '\\$&')}\``
}
