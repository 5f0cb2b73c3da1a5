import { StartupError } from './errors.ts'

const PROBLEMS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'this host is not known',
  EAI_AGAIN: 'no name server knows the address of this host',
  EADDRNOTAVAIL: 'this machine does not have this address',
}

/** Explains why a server cannot listen on its host; undefined when the host is not the reason. */
export function hostProblem({ code = '' }: NodeJS.ErrnoException): string | undefined {
  return PROBLEMS[code]
}

/** The address and port of a listener, and the setting of the port. */
export interface ListenPort {
  readonly host: string
  readonly portSetting: string
  readonly port: number
}

/** One wording for every port: which port is not free, why, and what to do. */
export function portRefusal({ host, portSetting, port }: ListenPort, { code, message }: NodeJS.ErrnoException) {
  const [cause, remedy] = REFUSALS[code ?? ''] ?? [code ?? message, 'choose another port']
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`
  const reason = `${portSetting} ${port}: cannot listen on ${address} (${cause})`
  return new StartupError(`${reason}; ${remedy}`, { reason, remedy })
}

const REFUSALS: Readonly<Record<string, readonly [cause: string, remedy: string]>> = {
  EADDRINUSE: ['another program listens there', 'choose another port'],
  EACCES: ['this user may not use this port', 'choose one from 1024 upwards'],
}
