import { remembered } from '../bounded-cache.ts'
import { bareName } from './business-name.ts'
import { registrableDomain } from './domain.ts'
import type { Organisation } from './evidence.ts'
import { fold, slug } from './normalise.ts'
import { once, readData, readSections } from './sections.ts'

/**
 * The id of an organisation: its registrable domain, or else the key of its name; `''` without either. Both come from one
 * record. So all addresses with that record belong to one organisation, even if other providers add details for some.
 */
export function companyIdOf(organisation: Organisation | undefined): string {
  if (organisation === undefined) return ''
  const { domain, name } = organisation
  if (domain !== undefined) return registrableDomain(domain) ?? domain.toLowerCase()
  return name === undefined ? '' : nameKey(name)
}

/**
 * The key under which the names of one company meet: the slug of its business name, without a leading article. Names that
 * differ only by legal form, case, accents or punctuation have the same key. `''` without letters and digits.
 */
export const nameKey = remembered((registered): string => {
  const key = slug(fold(bareName(registered))) || slug(registered)
  return key.startsWith(ARTICLE) && key.length > ARTICLE.length ? key.slice(ARTICLE.length) : key
})

const ARTICLE = 'the-'

/** The data on which `nameKey` and `isNameOfOne` depend. */
export function nameKeyData(): string {
  return ['business-names.txt', 'generic-words.txt', 'world-brands.txt'].map(readData).join('')
}

/** Two companies rarely share a name of this length and several words. */
const NAME_OF_ONE_LENGTH_MIN = 12

/** Whether the key of a name is of one company in the whole world: `deutsche-boerse` is, `delta` is of many. */
export function isNameOfOne(key: string): boolean {
  return worldBrands().has(key) || (key.includes('-') && key.length >= NAME_OF_ONE_LENGTH_MIN)
}

/** Keys of names that one company has in the whole world. */
export const worldBrands = once(() => new Set(readSections('world-brands.txt').flatMap(({ entries }) => entries)))
