/** Whether only this machine reaches a host name of the URL. */
export function isLocalHost(hostname: string): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)
}
