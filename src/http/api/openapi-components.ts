import { isDeepStrictEqual } from 'node:util'
import type { TSchema } from 'typebox'

/** Our own formats as tools know them. */
const PUBLIC_FORMATS: Readonly<Record<string, object>> = {
  rfc3339: { format: 'date-time' },
  ip: { anyOf: [{ format: 'ipv4' }, { format: 'ipv6' }] },
}

type Part = Readonly<Record<string, unknown>>

interface Fixed {
  readonly headers: Part
  readonly responses: Part
  readonly schemas: Readonly<Record<string, TSchema>>
}

/** The components of an OpenAPI document. A schema with a `title` becomes one of that name, and a reference takes its place. */
export class Components {
  readonly #headers: Part
  readonly #responses: Part
  readonly #schemas = new Map<string, unknown>()

  constructor({ headers, responses, schemas }: Fixed) {
    this.#headers = headers
    this.#responses = responses
    for (const schema of Object.values(schemas)) this.schema(schema)
  }

  /**
   * The schema for the document.
   * @throws Error when two schemas have the same title and are not the same
   */
  schema(schema: TSchema): unknown {
    return this.#public(JSON.parse(JSON.stringify(schema)))
  }

  /** The components that the rest of a document refers to, directly or by another one. */
  used(rest: unknown): Record<string, Record<string, unknown>> {
    const all: Readonly<Record<string, Part>> = {
      headers: this.#headers,
      responses: this.#responses,
      schemas: Object.fromEntries([...this.#schemas].sort(([a], [b]) => (a < b ? -1 : 1))),
    }
    const found = new Set<string>()
    const follow = (part: unknown) => {
      for (const [, path = ''] of JSON.stringify(part).matchAll(/"#\/components\/([^"]+)"/g)) {
        if (found.has(path)) continue
        found.add(path)
        const [kind = '', name = ''] = path.split('/')
        follow(all[kind]?.[name] ?? null)
      }
    }
    follow(rest)
    return Object.fromEntries(
      Object.entries(all).flatMap(([kind, parts]) => {
        const kept = Object.entries(parts).filter(([name]) => found.has(`${kind}/${name}`))
        return kept.length === 0 ? [] : [[kind, Object.fromEntries(kept)]]
      }),
    )
  }

  #public(node: unknown): unknown {
    if (Array.isArray(node)) return node.map((item) => this.#public(item))
    if (typeof node !== 'object' || node === null) return node
    const { title, ...rest } = Object.fromEntries(
      Object.entries(node).flatMap(([key, value]) =>
        key === 'format' && typeof value === 'string' && Object.hasOwn(PUBLIC_FORMATS, value)
          ? Object.entries(PUBLIC_FORMATS[value]!)
          : [[key, this.#public(value)]],
      ),
    )
    // A property may be called title.
    if (typeof title !== 'string') return title === undefined ? rest : { title, ...rest }
    const known = this.#schemas.get(title)
    if (known !== undefined && !isDeepStrictEqual(known, rest)) throw new Error(`two schemas are called ${title}`)
    this.#schemas.set(title, rest)
    return { $ref: `#/components/schemas/${title}` }
  }
}
