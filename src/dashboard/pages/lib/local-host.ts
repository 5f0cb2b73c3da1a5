/** Whether only this machine reaches a host name of the URL. */
export function isLocalHost(hostname: string): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)
}

/** The URL, or an empty text where only this machine reaches it, because other machines would call themselves. */
export function sharedUrl(url: string | null): string {
  return url === null || isLocalHost(new URL(url).hostname) ? '' : url
}
