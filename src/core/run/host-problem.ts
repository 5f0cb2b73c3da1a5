const PROBLEMS: Readonly<Record<string, string>> = {
  ENOTFOUND: 'this host is not known',
  EAI_AGAIN: 'no name server tells the address of this host',
  EADDRNOTAVAIL: 'this machine does not have this address',
}

/** What is wrong with the host that a server was to listen on; undefined: nothing, it failed for another reason. */
export function hostProblem({ code = '' }: NodeJS.ErrnoException): string | undefined {
  return PROBLEMS[code]
}
