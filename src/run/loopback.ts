const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?$/i

/**
 * Whether a request was meant for this machine. A name that leads to 127.0.0.1, as in DNS rebinding, is none of its own.
 * @param host the header; undefined when there is none, which no browser leaves out
 */
export function isLoopbackHost(host: string | undefined): boolean {
  return host === undefined || LOOPBACK.test(host)
}
