import { isIPv6 } from 'node:net'

/** Kinds of names that an archive shows by a number only. */
type NameKind = 'tenant' | 'export' | 'host'

/** Passwords shorter than this are found in innocent words. */
const SECRET_CHARS_MIN = 4
/** Shorter names are replaced only where they are a whole value. */
const NAME_CHARS_MIN = 3

const KEY = /\b(?:ipid_(?:test_)?|src_|pub_)[0-9a-f]{7,}/g
/** A random text: a key, a token of a link, a hash. A path is none, because of its slashes. */
const TOKEN = /(?<![\w+=-])(?=[\w+=-]*\d)[\w+=-]{32,}(?![\w+=-])/g
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const WORD = /[^\s"'<>:;,()=/[\]{}]+/g
const EMAIL = /@|%40/i
/** User, hosts and ports of a URL. */
const AUTHORITY = /(:\/\/)(?:[^/\s"'@]*@)?([^/\s"'?#<>]+)/g
const OWN_AUTHORITY = /^(?:127\.[\d.]+|0\.0\.0\.0|localhost|\[::1?\])(?::\d+)?$/
/** Hosts in messages of Node.js may have no dot. */
const UNRESOLVED = /\b(ENOTFOUND|EAI_AGAIN) [^\s,;)]+/g
const IPV4 = /(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?![\w])/g
const IPV6 = /(?<![\w])(?:[0-9a-f]{0,4}:){2,}[0-9a-f:.]*(?![\w])/gi
/** Addresses that every machine has. */
const OWN_ADDRESS = /^(?:127\..*|0\.0\.0\.0|::1?)$/
const HOST = /(?<![\w./-])(?:[a-z0-9_-]+\.)+[a-z][a-z0-9-]+(?![\w])/gi
/** Dotted names that are no host: files of programs, tables of ClickHouse, versions and units. */
const NO_HOST =
  /\.(?:ts|mjs|js|cjs|json|lua|sql|ya?ml|csv|mmdb|log|service|socket|sock|xml|conf|key|env)$|^(?:ipid|system|node|ex|config)\.[a-z_]+$|^node\.js$|^v?\d[\d.]*(?:-[a-z0-9.-]+)?$/i
const HOME = /(\/(?:home|Users)\/)[^/\s"':]+/g
/** A quote within quotes. */
const ESCAPED = /\\['"`]/g
const QUOTED = /'[^'\n]*'|"[^"\n]*"|`[^`\n]*`|„[^„“”\n]*[“”]|“[^“”\n]*”|«[^«»\n]*»/g
/** From here on, ClickHouse quotes the row that it could not read. */
const ROW = /(?:\bRow \d+:|\(at row \d+\)|\bbefore: |\bwhile parsing |\bparsed text: )[\s\S]*$/

/**
 * Removes private parts from texts: secrets, keys, tokens, addresses of all kinds, names of machines, tenants and exports.
 * A name always becomes the same number. Doubtful parts are removed too.
 */
export class Cleaner {
  readonly #secrets: readonly string[]
  readonly #names = new Map<string, string>()
  readonly #counts = new Map<NameKind, number>()

  /** @param secrets texts that are removed wherever they are */
  constructor(secrets: readonly string[]) {
    const long = secrets.filter(({ length }) => length >= SECRET_CHARS_MIN)
    this.#secrets = [...new Set(long)].sort((one, other) => other.length - one.length)
  }

  /** The stand-in of a name, such as `tenant-1`. From now on, the name is replaced in every text. */
  name(kind: NameKind, name: string): string {
    if (name === '') return name
    const known = this.#names.get(name)
    if (known !== undefined) return known
    const number = (this.#counts.get(kind) ?? 0) + 1
    this.#counts.set(kind, number)
    const standIn = `${kind}-${number}`
    this.#names.set(name, standIn)
    return standIn
  }

  /** A text of programs: settings, statements, metrics. */
  text(text: string): string {
    const whole = this.#names.get(text)
    if (whole !== undefined) return whole
    let clean = text
    for (const secret of this.#secrets) clean = clean.replaceAll(secret, '<secret>')
    for (const [name, standIn] of this.#names)
      if (name.length >= NAME_CHARS_MIN) clean = replaceWord(clean, name, standIn)
    return clean
      .replaceAll(
        AUTHORITY,
        (_, start: string, hosts: string) => start + (OWN_AUTHORITY.test(hosts) ? hosts : hostsText(hosts)),
      )
      .replaceAll(UNRESOLVED, '$1 <host>')
      .replaceAll(KEY, '<key>')
      .replaceAll(WORD, (found) => (EMAIL.test(found) ? '<e-mail>' : found))
      .replaceAll(IPV6, (found) => (isOwnOrNone(found) ? found : '<address>'))
      .replaceAll(IPV4, (found) => (OWN_ADDRESS.test(found) ? found : '<address>'))
      .replaceAll(TOKEN, (found) => (UUID.test(found) || isWords(found) ? found : '<token>'))
      .replaceAll(HOST, (found) => (NO_HOST.test(found) ? found : '<host>'))
      .replaceAll(HOME, '$1<user>')
  }

  /** A message of people, libraries or servers, which may quote data: without everything in quotes. */
  message(text: string): string {
    return this.text(text.replace(ROW, '<row>').replaceAll(ESCAPED, '').replaceAll(QUOTED, '<quoted>'))
  }

  /** A JSON value whose strings are cleaned by `clean`, and names by their keys. Keys stay. */
  json(value: unknown, clean: (text: string, key: string) => string = (text) => this.text(text), key = ''): unknown {
    if (typeof value === 'string') {
      const kind = KINDS[key]
      return kind === undefined ? clean(value, key) : this.name(kind, value)
    }
    if (Array.isArray(value)) return value.map((member) => this.json(member, clean, key))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, this.json(member, clean, name)]))
  }
}

/** The keys under which ipid writes names. */
const KINDS: Readonly<Record<string, NameKind>> = {
  tenant: 'tenant',
  tenant_id: 'tenant',
  archived_tenants: 'tenant',
  export: 'export',
  host: 'host',
  hostname: 'host',
}

/** Of one host the port stays. */
function hostsText(hosts: string): string {
  return `<host>${/^[^,]*?(:\d+)?$/.exec(hosts)?.[1] ?? ''}`
}

function isOwnOrNone(found: string): boolean {
  // Not a time such as 12:30:00, and not `DB::`. Longer ones are taken for addresses, even with a part too many.
  const address = found.replace(/[.:]$/, (end) => (found.endsWith('::') ? end : ''))
  if (OWN_ADDRESS.test(address)) return true
  return !isIPv6(address) && !address.includes('::') && address.split(':').length < 4
}

/** Words with dashes, such as the name of a package or a metric, and no random text. */
function isWords(found: string): boolean {
  return found
    .split(/[_=+-]/)
    .every((word) => /^(?:[a-z]+\d?|[A-Z]+|[A-Z]?[a-z]+|\d{1,4})$/.test(word) && word.length < 20)
}

/** Replaces a name where no letter or digit is beside it. */
function replaceWord(text: string, name: string, standIn: string): string {
  let clean = ''
  let from = 0
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, from)) {
    const end = at + name.length
    const isWord = !/[\p{L}\p{N}_]/u.test(text[at - 1] ?? ' ') && !/[\p{L}\p{N}_]/u.test(text[end] ?? ' ')
    clean += text.slice(from, at) + (isWord ? standIn : name)
    from = end
  }
  return clean + text.slice(from)
}
