/** The host of `url` without `www.`; empty for a path alone. */
export const HOST_OF_URL = "if(position(url, '://') > 0, domainWithoutWWW(url), '')"
/** The path of `url` without its query. */
export const PATH_OF_URL = "if(position(url, '://') > 0, if(path(url) = '', '/', path(url)), cutQueryString(url))"
/** Host and path as one text. */
export const PAGE_OF_URL = `concat(${HOST_OF_URL}, ${PATH_OF_URL})`
