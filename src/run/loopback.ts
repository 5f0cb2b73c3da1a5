const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?$/i

/**
 * Whether a request was meant for this machine. Rejects foreign names that resolve to 127.0.0.1, as in DNS rebinding.
 * @param host the Host header; undefined when absent, which no browser sends
 */
export function isLoopbackHost(host: string | undefined): boolean {
  return host === undefined || LOOPBACK.test(host)
}
