/**
 * Hash of all inputs of a stored day. `day_checks`, `valid_days`, `valid_page_days` and the builder have the same text: a build
 * that reads another column needs it here, or a change of that column would leave a wrong day valid.
 */
export const CHECK = 'cityHash64(account_id, company_id, ip, timestamp, page)'

/** Events that `page_days` counts. */
export const HAS_PAGE = "page > '' AND company_id > ''"
