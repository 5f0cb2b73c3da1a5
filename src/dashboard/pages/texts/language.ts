/** Languages that have texts; the first is used for readers of any other. Add one here, and its folder in `texts.ts`. */
const LANGUAGES = ['en'] as const

/** A language that has texts. */
export type Language = (typeof LANGUAGES)[number]

interface Global {
  readonly document?: unknown
  readonly navigator?: { readonly languages?: readonly string[] }
}

// Without a document nobody reads: tests and the server have a navigator, too.
const { document, navigator } = globalThis as Global
const wanted = document === undefined ? [] : (navigator?.languages ?? [])

const isOf = (locale: string, language: Language) => locale === language || locale.startsWith(`${language}-`)
const languageOf = (locale: string) => LANGUAGES.find((language) => isOf(locale, language))

/** The language of all texts: the first one of the browser's that has texts. */
export const LANGUAGE: Language = wanted.map(languageOf).find((language) => language !== undefined) ?? LANGUAGES[0]

/**
 * For numbers, dates and names of countries, which follow the language of the texts. A reader whose browser knows a kind of it, such as
 * `en-GB`, gets the dates of that one.
 */
export const LOCALE =
  wanted.find((locale) => locale.startsWith(`${LANGUAGE}-`)) ?? (LANGUAGE === 'en' ? 'en-US' : LANGUAGE)
