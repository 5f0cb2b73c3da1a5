import { StartupError } from '../../run/errors.ts'
import { hostProblem } from '../../run/host-problem.ts'
import type { ListenAddress } from './engine.ts'

/**
 * Says why a server cannot listen, and what to do.
 * @param error the error of the system; undefined: it can listen now
 * @param whyNotShared why other processes may not listen on the same port; undefined: they may, or it was not requested
 */
export function listenError(
  address: ListenAddress,
  error: NodeJS.ErrnoException | undefined,
  whyNotShared?: string,
): StartupError {
  const reason = error === undefined ? TAKEN_BEFORE : explain(error, address)
  const hint = error?.code === 'EADDRINUSE' && whyNotShared !== undefined ? ` (${whyNotShared})` : ''
  return new StartupError(`cannot listen on ${address.host}:${address.port}: ${reason}${hint}`)
}

const TAKEN_BEFORE = 'the port was taken a moment ago; try again'

function explain(error: NodeJS.ErrnoException, { hostSetting, portSetting }: ListenAddress): string {
  const problem = hostProblem(error)
  if (problem !== undefined) return `${problem}; correct ${hostSetting}`
  switch (error.code) {
    case 'EADDRINUSE':
      return `another program uses this port; choose another with ${portSetting}, or end that program`
    case 'EACCES':
      return `this user may not use this port; choose one from 1024 upwards with ${portSetting}`
    default:
      return error.message
  }
}
