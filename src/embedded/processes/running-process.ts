/** A ready child process. */
export interface RunningProcess {
  readonly pid: number
  /** Its address, if it has one. */
  readonly url: string | undefined
  /** Resolves with the reason when the process has ended. Never rejects. */
  readonly exited: Promise<string>
  /** Stops the process gracefully and waits for its end. */
  stop(): Promise<void>
  /** Sends SIGKILL. */
  kill(): void
}

/** `exit code 1` or `signal SIGKILL`. */
export function exitReason(code: number | null, signal: NodeJS.Signals | null): string {
  return signal === null ? `exit code ${code}` : `signal ${signal}`
}
