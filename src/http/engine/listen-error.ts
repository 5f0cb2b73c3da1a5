import { StartupError } from '../../core/run/errors.ts'

/**
 * Says why a server cannot listen, and what to do.
 * @param error what the system says; undefined: that it can now
 * @param whyNotShared why other processes may not listen on the same port; undefined: they may, or nobody asked for it
 */
export function listenError(
  host: string,
  port: number,
  error: NodeJS.ErrnoException | undefined,
  whyNotShared?: string,
): StartupError {
  const reason = error === undefined ? TAKEN_BEFORE : explain(error)
  const hint = error?.code === 'EADDRINUSE' && whyNotShared !== undefined ? ` (${whyNotShared})` : ''
  return new StartupError(`cannot listen on ${host}:${port}: ${reason}${hint}`)
}

const TAKEN_BEFORE = 'the port was taken a moment ago; try again'

function explain(error: NodeJS.ErrnoException): string {
  switch (error.code) {
    case 'EADDRINUSE':
      return 'another program uses this port; choose another with PORT, or end that program'
    case 'EACCES':
      return 'this user may not use this port; choose one from 1024 upwards with PORT'
    case 'EADDRNOTAVAIL':
      return 'this machine does not have this address; correct HOST'
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'this host is not known; correct HOST'
    default:
      return error.message
  }
}
