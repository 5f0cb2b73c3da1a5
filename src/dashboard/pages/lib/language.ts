// Tests import this under Node, which may have no navigator.
const { languages = [] } =
  (globalThis as { readonly navigator?: { readonly languages?: readonly string[] } }).navigator ?? {}

/**
 * The language of all texts, so also of numbers, dates and names of countries, in a browser of any language. A reader whose
 * browser knows a kind of English gets the dates of that one.
 */
export const LANGUAGE = languages.find((language) => language.startsWith('en-')) ?? 'en-US'
