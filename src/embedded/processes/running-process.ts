/** A child process that does its work. */
export interface RunningProcess {
  readonly pid: number
  /** Where it is reached; undefined when nobody calls it. */
  readonly url: string | undefined
  /** Resolves when it has ended, with the reason in words. Never rejects. */
  readonly exited: Promise<string>
  /** Asks it to finish and waits until it has ended. */
  stop(): Promise<void>
  /** SIGKILL. */
  kill(): void
}

/** `exit code 1` or `signal SIGKILL`. */
export function exitReason(code: number | null, signal: NodeJS.Signals | null): string {
  return signal === null ? `exit code ${code}` : `signal ${signal}`
}
