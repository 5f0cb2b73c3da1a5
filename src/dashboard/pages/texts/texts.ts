import { en } from './en/index.ts'
import { LANGUAGE, type Language } from './language.ts'

/** The texts of a language. A text that is missing, or has other parameters, does not compile. */
export type Texts = typeof en

/** English is part of the pages; the texts of another language load before the first page, and only for its readers. */
const LOADERS: Readonly<Record<Language, () => Texts | Promise<Texts>>> = { en: () => en }

/** All texts, in the reader's language. */
export const TEXTS: Texts = await LOADERS[LANGUAGE]()
