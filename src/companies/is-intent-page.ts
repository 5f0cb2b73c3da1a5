import { INTENT_PAGES } from '../../schemas/dashboard/intent-pages.ts'
import { PATH_OF_URL } from './page-of-url.ts'

/** A pattern of paths that match any of the pages, as in the view `company_heat`. @param pages SQL of an array */
export const patternOf = (pages: string) => `
    concat(
      '(?i)(^|[^\\\\pL\\\\pN])(',
      arrayStringConcat(arrayMap(page -> arrayStringConcat(extractAll(page, '[\\\\pL\\\\pN]+'), '[^\\\\pL\\\\pN]+'), ${pages}), '|'),
      ')([^\\\\pL\\\\pN]|$)'
    )`

const DEFAULTS = INTENT_PAGES.defaults.map((page) => `'${page}'`).join()

/** Goes into WITH, for `IS_INTENT_PAGE` and `MAY_BE_INTENT_PAGE`. */
export const WITH_INTENT_PAGES = `
  (
    SELECT if(empty(groupArrayArray(pages) AS own), [${DEFAULTS}], own)
    FROM intent_pages
    WHERE tenant_id = {tenant:String}
  ) AS intent_list,
  ${patternOf('intent_list')} AS intent_pattern,
  concat(
    '(?i)',
    arrayStringConcat(arrayPushBack(arrayMap(page -> arrayReverseSort(word -> length(word), arrayPushBack(extractAll(page, '[A-Za-z0-9]+'), '"'))[1], intent_list), '\\\\\\\\u'), '|')
  ) AS intent_words`

/** Whether the page of an event is an intent page of the tenant. */
export const IS_INTENT_PAGE = `match(decodeURLComponent(${PATH_OF_URL}), intent_pattern)`

/** A search in the text that must find something first, because ClickHouse computes the page from JSON, which is slow. */
export const MAY_BE_INTENT_PAGE = '(match(extra, intent_words) OR match(properties, intent_words))'
