/** The cookie of a session. Browsers share cookies between ports, so its name has the port: a machine may run two instances. */
export class SessionCookie {
  readonly #name: string
  readonly #isSecure: boolean

  /** @param isSecure browsers send it over https only */
  constructor(port: number, isSecure: boolean) {
    this.#name = `${isSecure ? '__Host-' : ''}ipid_session_${port}`
    this.#isSecure = isSecure
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
    const secure = this.#isSecure ? '; Secure' : ''
    return `${this.#name}=${secret}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict${secure}`
  }
}
