/** The cookie of a session. Cookies know no ports, so its name does: two instances on a machine keep apart. */
export class SessionCookie {
  readonly #name: string
  readonly #isSecure: boolean

  /** @param isSecure it is sent by https only */
  constructor(port: number, isSecure: boolean) {
    this.#name = `${isSecure ? '__Host-' : ''}ipid_session_${port}`
    this.#isSecure = isSecure
  }

  /** Out of a `Cookie` header; `''` when it is not there. */
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
