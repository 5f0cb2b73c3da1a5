/**
 * One text of several. For what is part of many others: to V8 a text that is put together with `+` or a template is a tree, which
 * each of the others would go round once more to be made bytes; `join` makes one that is none.
 */
export function flatText(...parts: readonly string[]): string {
  return parts.join('')
}
