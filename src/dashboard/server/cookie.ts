interface CookieOptions {
  readonly name: 'session' | 'sign_in'
  readonly port: number
  /** Whether browsers send it over https only. */
  readonly isSecure: boolean
  /** `Lax`: browsers send it also when another site leads here. */
  readonly sameSite: 'Strict' | 'Lax'
}

/** A cookie with a secret. Browsers share cookies between ports, so its name has the port: a machine may run two instances. */
export class SecretCookie {
  readonly #name: string
  readonly #attributes: string

  constructor({ name, port, isSecure, sameSite }: CookieOptions) {
    this.#name = `${isSecure ? '__Host-' : ''}ipid_${name}_${port}`
    this.#attributes = `HttpOnly; SameSite=${sameSite}${isSecure ? '; Secure' : ''}`
  }

  /** Reads a `Cookie` header; `''` when the cookie is absent. */
  read(header: string): string {
    const prefix = `${this.#name}=`
    const pair = header.split(/; */).find((text) => text.startsWith(prefix))
    return pair?.slice(prefix.length) ?? ''
  }

  /** A `Set-Cookie` header. @param validMs 0: removes it */
  write(secret: string, validMs: number): string {
    const maxAgeSeconds = Math.floor(validMs / 1_000)
    return `${this.#name}=${secret}; Path=/; Max-Age=${maxAgeSeconds}; ${this.#attributes}`
  }
}
